import type { Caller } from "../../platform/http/access/caller.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import { readParams } from "../../platform/streaming-protocol/command.ts";
import { ProtocolError } from "../../platform/streaming-protocol/protocol-error.ts";
import { unnamedAssistant } from "../../platform/streaming-protocol/unnamed-assistant.ts";
import type { CreatedRun } from "../runs/run-create-service.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { type RunCreateBody, runCreateBody, toRunRequest } from "../runs/run-schemas.ts";
import type { RunService } from "../runs/run-service.ts";
import type { StateService } from "../threads/state-service.ts";
import { addressOf } from "../threads/state-service.ts";
import type { CommandParams } from "./commands.ts";
import { type PendingInterrupt, pendingInterrupts } from "./pending-interrupts.ts";
import type { ProtocolThread } from "./protocol-store.ts";
import type { ThreadAccess } from "./thread-access.ts";

/** The caller, with the headers that graphs may read from `configurable`. */
export type CallerOf = (
  caller: Caller,
  headers: Headers,
) => { caller: Caller; callerConfigurable: Record<string, unknown> };

/** The caller, and the thread of the command. */
export type CommandContext = ReturnType<CallerOf> & { threadId: string };

export type RunCommandsOptions = { runs: RunService; states: StateService; access: ThreadAccess };

/** Commands that start runs: `run.start`, `input.respond`, `input.inject`, `state.fork`. */
export class RunCommands {
  readonly #options: RunCommandsOptions;
  /** Two answers at once must not both be taken for the same interrupt. */
  readonly #answers = new KeyedLock();

  constructor(options: RunCommandsOptions) {
    this.#options = options;
  }

  /**
   * Starts a run and makes the thread where there is none. Where the thread waits at an `interrupt()`, the input
   * is the answer to it, unless it continues from another checkpoint.
   */
  async start(context: CommandContext, params: Record<string, unknown>): Promise<CreatedRun> {
    const { multitaskStrategy, ...rest } = params;
    const strategy = multitaskStrategy === undefined ? {} : { multitask_strategy: multitaskStrategy };
    const named = { ...rest, assistant_id: rest.assistant_id ?? unnamedAssistant };
    const body = readParams(runCreateBody, { ...named, ...strategy }, "run.start");
    const request: RunRequest = { ...requestOf(body), if_not_exists: "create" };
    const open = () => this.#options.access.open(context.caller, context.threadId);
    const thread = await open();
    if (request.checkpoint?.checkpoint_id) {
      await this.#requireCheckpoint(context, request.checkpoint.checkpoint_id);
    } else if (thread && pendingInterrupts(thread).length > 0) {
      return this.#answers.run(context.threadId, async () => {
        const now = await open();
        return this.#create(context, now ? answerWithInput(request, pendingInterrupts(now)) : request);
      });
    }
    return this.#create(context, request);
  }

  /** Answers interrupts: one run continues with all the answers given. */
  respond(context: CommandContext, params: CommandParams<"input.respond">): Promise<CreatedRun> {
    return this.#answers.run(context.threadId, () => this.#respond(context, params));
  }

  async #respond(context: CommandContext, params: CommandParams<"input.respond">): Promise<CreatedRun> {
    const thread = await this.#requireThread(context);
    const pending = pendingInterrupts(thread);
    if (pending.length === 0) {
      throw new ProtocolError(
        "no_such_interrupt",
        `Thread ${context.threadId} has no open interrupt: its status is ${thread.status}. It may have been answered already.`,
      );
    }
    const responses = "responses" in params ? (params.responses as Answer[]) : [params as unknown as Answer];
    const unknown = responses.find(({ interrupt_id }) => !pending.some(({ id }) => id === interrupt_id));
    if (unknown) {
      const known = pending.map(({ id }) => id).join(", ");
      throw new ProtocolError(
        "no_such_interrupt",
        `No interrupt ${unknown.interrupt_id} is pending on thread ${context.threadId}; pending: ${known}.`,
      );
    }
    const { update, goto } = params;
    const request = requestOf({
      assistant_id: assistantOf(thread),
      command: {
        resume: Object.fromEntries(responses.map(({ interrupt_id, response }) => [interrupt_id, response])),
        ...(update === undefined ? {} : { update }),
        ...(goto === undefined || goto === null ? {} : { goto }),
      } as RunCreateBody["command"],
      config: params.config,
      metadata: params.metadata,
    });
    return this.#create(context, request);
  }

  /**
   * A running graph cannot be handed a message from outside, so the message waits for its end and is then the
   * input of a run of its own, which sees everything the running one did.
   */
  async inject(context: CommandContext, params: CommandParams<"input.inject">): Promise<CreatedRun> {
    const thread = await this.#requireThread(context);
    if (thread.status !== "busy") {
      throw new ProtocolError(
        "no_such_run",
        `No run is active on thread ${context.threadId}; use run.start.`,
      );
    }
    if (params.namespace.length > 0) {
      throw new ProtocolError("not_supported", "Messages can be injected at the root only: namespace [].");
    }
    const request = requestOf({ assistant_id: assistantOf(thread), input: { messages: [params.message] } });
    return this.#create(context, request);
  }

  /** Goes on from an earlier checkpoint of the same thread. */
  async fork(context: CommandContext, params: CommandParams<"state.fork">): Promise<CreatedRun> {
    const thread = await this.#requireThread(context);
    await this.#requireCheckpoint(context, params.checkpoint_id);
    const request = requestOf({
      assistant_id: assistantOf(thread),
      input: params.input,
      config: params.config,
      checkpoint_id: params.checkpoint_id,
    });
    return this.#create(context, request);
  }

  async #create(context: CommandContext, request: RunRequest): Promise<CreatedRun> {
    const { caller, threadId, callerConfigurable } = context;
    const protocol = { protocol: true, stream_subgraphs: false } as const;
    // A thread created with the run is marked by that: all later runs on it speak the protocol too.
    return this.#options.runs.create(caller.workspaceId, threadId, {
      ...request,
      ...protocol,
      callerConfigurable,
      caller,
    });
  }

  async #requireThread({ caller, threadId }: CommandContext): Promise<ProtocolThread> {
    const thread = await this.#options.access.open(caller, threadId);
    if (!thread) throw new ProtocolError("no_such_run", `Nothing has run on thread ${threadId} yet.`);
    return thread;
  }

  /** The graph library would silently begin with an empty state. */
  async #requireCheckpoint({ caller, threadId }: CommandContext, checkpointId: string): Promise<void> {
    await this.#options.states.get(caller.workspaceId, threadId, { address: addressOf(checkpointId) });
  }
}

type Answer = { interrupt_id: string; response: unknown };

/** The checkpoint to go on from comes in the config, where it would otherwise bind retries too. */
function requestOf(body: Partial<RunCreateBody> & { assistant_id: string }): RunRequest {
  const request = toRunRequest(body as RunCreateBody, "given");
  const { checkpoint_id, checkpoint_ns, checkpoint_map, ...configurable } =
    request.config?.configurable ?? {};
  if (request.config?.configurable) request.config = { ...request.config, configurable };
  if (typeof checkpoint_id === "string" && checkpoint_id !== "") {
    request.checkpoint ??= {
      checkpoint_id,
      ...(typeof checkpoint_ns === "string" ? { checkpoint_ns } : {}),
      ...(checkpoint_map ? { checkpoint_map: checkpoint_map as Record<string, unknown> } : {}),
    };
  }
  return request;
}

function answerWithInput(request: RunRequest, pending: readonly PendingInterrupt[]): RunRequest {
  const { input } = request;
  if (pending.length === 0 || request.command || input === undefined || input === null) return request;
  if (pending.length > 1) {
    const ids = pending.map(({ id }) => id).join(", ");
    throw new ProtocolError(
      "invalid_argument",
      `${pending.length} interrupts are pending (${ids}), so one input cannot answer all of them. Use input.respond.`,
    );
  }
  return { ...request, command: { resume: input }, input: undefined };
}

function assistantOf(thread: ProtocolThread): string {
  const { assistant_id, graph_id } = thread.metadata;
  const id = assistant_id ?? graph_id;
  if (typeof id === "string") return id;
  throw new ProtocolError("no_such_run", `Nothing has run on thread ${thread.thread_id} yet.`);
}
