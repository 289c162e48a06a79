import type { CheckpointSummary, ListCheckpointsResult, StateGetResult } from "@langchain/protocol";
import { errorMessage } from "../../platform/errors.ts";
import { ProtocolError } from "../../platform/streaming-protocol/protocol-error.ts";
import type { StateService } from "../threads/state-service.ts";
import { addressOf } from "../threads/state-service.ts";
import type { ThreadState } from "../threads/thread-state.ts";
import type { CommandParams } from "./commands.ts";
import type { CommandContext } from "./run-commands.ts";

const defaultLimit = 10;

/** Commands that read checkpointed state. */
export class StateCommands {
  readonly #states: StateService;

  constructor(states: StateService) {
    this.#states = states;
  }

  async get(
    { caller, threadId }: CommandContext,
    { namespace, keys }: CommandParams<"state.get">,
  ): Promise<StateGetResult> {
    const checkpointNs = namespace.join("|");
    const state = await this.#inNamespace(checkpointNs, threadId, () =>
      this.#states.get(caller.workspaceId, threadId, { address: { checkpoint_ns: checkpointNs } }),
    );
    if (checkpointNs !== "" && state.created_at === null) throw noSuchNamespace(checkpointNs, threadId);
    const values = state.values as Record<string, unknown>;
    const { checkpoint } = state;
    return {
      values: keys ? Object.fromEntries(keys.flatMap((key) => entryOf(values, key))) : values,
      ...(checkpoint?.checkpoint_id
        ? { checkpoint: { id: String(checkpoint.checkpoint_id), ns: String(checkpoint.checkpoint_ns ?? "") } }
        : {}),
    };
  }

  async listCheckpoints(
    { caller, threadId }: CommandContext,
    params: CommandParams<"state.listCheckpoints">,
  ): Promise<ListCheckpointsResult> {
    const checkpointNs = (params.namespace ?? []).join("|");
    const history = await this.#inNamespace(checkpointNs, threadId, () =>
      this.#states.history(caller.workspaceId, threadId, {
        limit: params.limit ?? defaultLimit,
        ...(params.before ? { before: addressOf(params.before) } : {}),
        ...(checkpointNs === "" ? {} : { address: { checkpoint_ns: checkpointNs } }),
      }),
    );
    return { checkpoints: history.flatMap(toSummary) };
  }

  /** The graph library knows a subgraph by its namespace, or fails because it has none. */
  async #inNamespace<T>(checkpointNs: string, threadId: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (checkpointNs !== "" && /subgraph|namespace/i.test(errorMessage(error))) {
        throw noSuchNamespace(checkpointNs, threadId);
      }
      throw error;
    }
  }
}

function entryOf(values: Record<string, unknown>, key: string): [string, unknown][] {
  return Object.hasOwn(values, key) ? [[key, values[key]]] : [];
}

function toSummary(state: ThreadState): CheckpointSummary[] {
  const id = state.checkpoint?.checkpoint_id;
  if (!id) return [];
  const writes = state.metadata.writes;
  const node = writes !== null && typeof writes === "object" ? Object.keys(writes)[0] : undefined;
  return [
    {
      id: String(id),
      timestamp: state.created_at ?? "",
      step: Number(state.metadata.step ?? 0),
      ...(node ? { node_name: node } : {}),
      metadata: state.metadata,
    },
  ];
}

function noSuchNamespace(checkpointNs: string, threadId: string): ProtocolError {
  return new ProtocolError(
    "no_such_namespace",
    `Nothing has run in the namespace ${checkpointNs.replaceAll("|", " > ")} of thread ${threadId}.`,
  );
}
