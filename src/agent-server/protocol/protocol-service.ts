import type { CommandResponse, ErrorResponse, ResultData } from "@langchain/protocol";
import type { Database } from "../../platform/db/database.ts";
import { roleCovers } from "../../platform/http/access/caller.ts";
import { scopesCover } from "../../platform/http/access/scope.ts";
import { isUuid } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import type { CommandEnvelope } from "../../platform/streaming-protocol/command.ts";
import { errorEnvelope, ProtocolError } from "../../platform/streaming-protocol/protocol-error.ts";
import { logEndOf } from "../delivery/event-store.ts";
import type { CreatedRun } from "../runs/run-create-service.ts";
import { buildAgentTree } from "./agent-tree.ts";
import { readParams } from "./commands.ts";
import { protocolErrorOf } from "./protocol-error.ts";
import { findTreeRun, readLifecycle, type TreeRun } from "./protocol-store.ts";
import type { CommandContext, RunCommands } from "./run-commands.ts";
import type { StateCommands } from "./state-commands.ts";
import type { ThreadAccess } from "./thread-access.ts";

export type ProtocolServiceOptions = {
  database: Database;
  logger: Logger;
  access: ThreadAccess;
  runCommands: RunCommands;
  stateCommands: StateCommands;
};

type Done = { result: ResultData; appliedThroughSeq?: number };

const changing = new Set(["run.start", "input.respond", "input.inject", "state.fork"]);

/** Carries out commands. Subscriptions are not among them: they belong to a connection. */
export class ProtocolService {
  readonly #options: ProtocolServiceOptions;

  constructor(options: ProtocolServiceOptions) {
    this.#options = options;
  }

  /** Never rejects: every failure becomes an answer. */
  async execute(context: CommandContext, command: CommandEnvelope): Promise<CommandResponse | ErrorResponse> {
    try {
      const { result, appliedThroughSeq } = await this.#run(context, command);
      const seq = appliedThroughSeq ?? (await logEndOf(this.#options.database, context.threadId)).protocol;
      const meta = { thread_id: context.threadId, applied_through_seq: seq };
      return { type: "success", id: command.id, result, meta };
    } catch (thrown) {
      return errorEnvelope(command.id, this.toError(thrown, command.method));
    }
  }

  toError(thrown: unknown, method: string): ProtocolError {
    const known = protocolErrorOf(thrown);
    if (known) return known;
    this.#options.logger.error({ err: thrown, method }, "a protocol command failed unexpectedly");
    return new ProtocolError(
      "unknown_error",
      "The command failed for an internal reason; see the server's log.",
    );
  }

  async #run(context: CommandContext, { method, params }: CommandEnvelope): Promise<Done> {
    const { runCommands, stateCommands } = this.#options;
    if (changing.has(method)) {
      const { role, scopes } = context.caller;
      if (!roleCovers(role, "editor")) {
        throw new ProtocolError("permission_denied", `${method} needs the role editor.`);
      }
      if (!scopesCover(scopes, "runs")) {
        throw new ProtocolError("permission_denied", `${method} needs the scope runs.`);
      }
    }
    switch (method) {
      case "run.start":
        return started(await runCommands.start(context, params ?? {}), ({ run }) => ({ run_id: run.run_id }));
      case "input.respond":
        return started(await runCommands.respond(context, readParams(method, params)), () => ({}));
      case "input.inject":
        return started(await runCommands.inject(context, readParams(method, params)), () => ({}));
      case "state.fork":
        return started(await runCommands.fork(context, readParams(method, params)), ({ run }) => ({
          run_id: run.run_id,
          thread_id: run.thread_id,
        }));
      case "state.get":
        await this.#options.access.find(context.caller, context.threadId);
        return { result: await stateCommands.get(context, readParams(method, params)) };
      case "state.listCheckpoints":
        await this.#options.access.find(context.caller, context.threadId);
        return { result: await stateCommands.listCheckpoints(context, readParams(method, params)) };
      case "agent.getTree": {
        const { run_id } = readParams(method, params);
        return { result: { tree: await this.tree(context, run_id ?? undefined) } };
      }
      case "subscription.subscribe":
      case "subscription.unsubscribe":
      case "subscription.reconnect":
        throw new ProtocolError(
          "not_supported",
          `${method} works on a WebSocket. Over HTTP, open a stream of events with the filter you want.`,
        );
      default:
        throw new ProtocolError("unknown_command", `There is no command ${method.slice(0, 60)}.`);
    }
  }

  async tree(context: CommandContext, runId: string | undefined) {
    const run = await this.findRun(context, runId);
    const lifecycle = await readLifecycle(this.#options.database.sql, context.threadId, run.run_id);
    return buildAgentTree(
      run,
      lifecycle.map((data) => JSON.parse(data)),
    );
  }

  async findRun({ caller, threadId }: CommandContext, runId: string | undefined): Promise<TreeRun> {
    const thread = await this.#options.access.find(caller, threadId);
    const wellFormed = runId === undefined || isUuid(runId);
    const run =
      thread && wellFormed ? await findTreeRun(this.#options.database.sql, threadId, runId) : undefined;
    if (run) return run;
    const what = runId === undefined ? "Nothing has run" : `There is no run ${runId.slice(0, 60)}`;
    throw new ProtocolError("no_such_run", `${what} on thread ${threadId}.`);
  }
}

function started(created: CreatedRun, resultOf: (created: CreatedRun) => ResultData): Done {
  return { result: resultOf(created), appliedThroughSeq: created.protocolSeq };
}
