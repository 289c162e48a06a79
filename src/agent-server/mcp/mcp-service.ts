import { z } from "zod";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import type { Logger } from "../../platform/logger.ts";
import { defaultAssistantId } from "../assistants/assistant.ts";
import type { AssistantService } from "../assistants/assistant-service.ts";
import { type AssistantName, listAssistantNames } from "../assistants/assistant-store.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import { invalidParams, methodNotFound, type RpcRequest, readParams } from "../json-rpc/json-rpc.ts";
import type { RpcPermits } from "../json-rpc/rpc-permits.ts";
import type { CreatedRun } from "../runs/run-create-service.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { runCreateBody, toRunRequest } from "../runs/run-schemas.ts";
import type { RunService } from "../runs/run-service.ts";
import { type McpTool, nameTools, type ToolResult, toInputSchema, toToolResult } from "./mcp-tool.ts";

/** Newest first: the first one is offered to a client that asks for one we do not know. */
export const protocolVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

const methods = ["initialize", "ping", "tools/list", "tools/call"];
const pageSize = 100;

export type McpServiceOptions = {
  database: Database;
  logger: Logger;
  graphs: RunnableGraphs;
  assistants: AssistantService;
  permits: RpcPermits;
  runs: Pick<RunService, "create" | "waitForResult">;
  /** Removes a thread, stopping what runs on it. */
  removeThread(workspaceId: string, threadId: string): Promise<void>;
  version: string;
};

export type McpCaller = {
  caller: Caller;
  /** What a run takes from the request that starts it. */
  origin: Pick<RunRequest, "caller" | "callerConfigurable">;
  /** Fires when the client has gone. */
  signal: AbortSignal;
};

const initializeParams = z.looseObject({ protocolVersion: z.string() });
const listParams = z.looseObject({ cursor: z.string().nullish() });
const callParams = z.looseObject({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).nullish(),
});

/** The Model Context Protocol without sessions: every assistant is a tool, every call a run of its own. */
export class McpService {
  readonly #options: McpServiceOptions;

  constructor(options: McpServiceOptions) {
    this.#options = options;
  }

  async handle({ method, params }: RpcRequest, from: McpCaller): Promise<unknown> {
    switch (method) {
      case "initialize":
        return this.#initialize(readParams(initializeParams, params).protocolVersion);
      case "ping":
        return {};
      case "tools/list":
        return this.#list(from.caller, readParams(listParams, params).cursor ?? undefined);
      case "tools/call": {
        const call = readParams(callParams, params);
        return this.#call(from, call.name, call.arguments ?? {});
      }
      default:
        throw methodNotFound(method, methods);
    }
  }

  #initialize(wanted: string) {
    const known = protocolVersions.find((version) => version === wanted);
    return {
      protocolVersion: known ?? protocolVersions[0],
      capabilities: { tools: { listChanged: false } },
      serverInfo: { name: "treadle", title: "Treadle", version: this.#options.version },
      instructions: "Every tool runs one assistant of this server from its input to its final state.",
    };
  }

  async #tools(caller: Caller): Promise<Map<string, AssistantName>> {
    const { assistants, database, graphs, permits } = this.#options;
    await assistants.ensureDefaults(caller.workspaceId);
    const condition = await permits.assistantCondition(caller);
    const all = await listAssistantNames(database.sql, caller.workspaceId, condition);
    const loaded = new Set(graphs.ids);
    const defaultIds = new Set(graphs.ids.map(defaultAssistantId));
    return nameTools(
      all.filter((each) => loaded.has(each.graph_id)),
      (each) => defaultIds.has(each.assistant_id),
    );
  }

  async #list(
    caller: Caller,
    cursor: string | undefined,
  ): Promise<{ tools: McpTool[]; nextCursor?: string }> {
    const offset = cursor === undefined ? 0 : readCursor(cursor);
    const all = [...(await this.#tools(caller))];
    const page = all.slice(offset, offset + pageSize);
    const tools = await Promise.all(page.map(([name, assistant]) => this.#describe(name, assistant)));
    const next = offset + page.length;
    return next < all.length ? { tools, nextCursor: String(next) } : { tools };
  }

  async #describe(name: string, assistant: AssistantName): Promise<McpTool> {
    const { graphs, assistants } = this.#options;
    const { input_schema } = await assistants.schemasOfGraph(assistant.graph_id);
    const description = assistant.description ?? graphs.get(assistant.graph_id).description;
    return {
      name,
      title: assistant.name,
      description: description ?? `Runs the assistant "${assistant.name}".`,
      inputSchema: toInputSchema(input_schema),
    };
  }

  async #call(from: McpCaller, name: string, input: Record<string, unknown>): Promise<ToolResult> {
    const { workspaceId } = from.caller;
    const assistant = (await this.#tools(from.caller)).get(name);
    if (!assistant) throw invalidParams(`Unknown tool: "${name}". tools/list returns the tools.`);
    const { assistant_id } = assistant;
    const request = toRunRequest(runCreateBody.parse({ assistant_id, input }), "given");
    const created = await this.#options.runs.create(workspaceId, null, { ...request, ...from.origin });
    const { thread_id } = created.run;
    try {
      return toToolResult(name, await this.#resultOf(created, from.signal));
    } finally {
      // Not a temporary thread: it must last until its result was read, also when another process ran it.
      await this.#options.removeThread(workspaceId, thread_id).catch((error: unknown) => {
        this.#options.logger.warn(
          { err: error, thread_id },
          "the thread of a tool call could not be removed",
        );
      });
    }
  }

  async #resultOf({ run, result }: CreatedRun, gone: AbortSignal): Promise<string> {
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(clientGone());
    gone.addEventListener("abort", leave, { once: true });
    if (gone.aborted) leave();
    const finished = async () => {
      const local = await result;
      if (local) return local.resultJson;
      return this.#options.runs.waitForResult(run, gone);
    };
    try {
      return await Promise.race([finished(), left.promise]);
    } finally {
      gone.removeEventListener("abort", leave);
    }
  }
}

function clientGone(): AppError {
  return new AppError({
    code: "mcp.client_gone",
    kind: "conflict",
    message: "The client disconnected before the tool was done, so its run was stopped.",
  });
}

function readCursor(cursor: string): number {
  if (!/^\d{1,9}$/.test(cursor)) {
    throw invalidParams("Invalid params: cursor: not one that tools/list returned");
  }
  return Number(cursor);
}
