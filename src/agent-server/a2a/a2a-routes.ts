import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { sseResponse } from "../../platform/http/sse.ts";
import type { Logger } from "../../platform/logger.ts";
import {
  methodNotFound,
  type RpcRequest,
  readMessage,
  readParams,
  rpcCodes,
  rpcResponse,
} from "../json-rpc/json-rpc.ts";
import {
  accepts,
  allows,
  answerRequest,
  describeFailure,
  readRpcBody,
  refuse,
} from "../json-rpc/rpc-exchange.ts";
import type { Run } from "../runs/run.ts";
import type { RunAnswers } from "../runs/run-responses.ts";
import type { RunService } from "../runs/run-service.ts";
import type { ThreadFeed } from "../streaming/thread-feed.ts";
import { sendParams, taskParams } from "./a2a-message.ts";
import type { A2aCaller, A2aService } from "./a2a-service.ts";
import { taskFrames } from "./a2a-stream.ts";
import { toTask } from "./a2a-task.ts";

export type A2aRoutesOptions = {
  a2a: A2aService;
  runs: Pick<RunService, "statusOf" | "find">;
  feed: ThreadFeed;
  logger: Logger;
} & Pick<RunAnswers, "callerOf">;

const tag = "A2A";
const streaming = ["message/stream", "tasks/resubscribe"];
const methods = ["message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"];
const card = z.looseObject({ protocolVersion: z.string(), name: z.string(), url: z.string() });

/** Assistants as agents of the Agent2Agent protocol. */
export function a2aRoutes(options: A2aRoutesOptions): Route[] {
  const { a2a } = options;
  return [
    route(
      {
        method: "get",
        path: "/.well-known/agent-card.json",
        operationId: "getAgentCard",
        summary: "The agent card of an assistant",
        tag,
        access: { kind: "agent", role: "viewer", scope: ["read", "runs"] },
        query: z.object({ assistant_id: z.string().min(1) }),
        responses: { 200: { description: "The card.", schema: card } },
        errors: [404],
      },
      async ({ caller, query }) => json(200, await a2a.card(caller, query.assistant_id)),
    ),
    route(
      {
        method: "post",
        path: "/a2a/{assistant_id}",
        operationId: "postA2a",
        summary: "Agent2Agent: one JSON-RPC request to an assistant",
        description: `${methods.join(", ")}. The streaming ones answer with server-sent events of JSON-RPC answers.`,
        tag,
        access: { kind: "agent", role: "editor", scope: "runs" },
        params: z.object({ assistant_id: z.string().min(1) }),
        rawBody: true,
        responses: {
          200: { description: "The answer, or a stream of answers." },
          400: { description: "Not a request, or not acceptable.", schema: rpcResponse },
        },
        errors: [404],
      },
      async ({ caller, keyed, params, c }) => {
        const { headers, signal } = c.req.raw;
        const assistant = await a2a.assistant(caller, params.assistant_id);
        const body = await readRpcBody(c.req.raw, keyed);
        if ("refusal" in body) return body.refusal;
        const message = readMessage(body.value);
        if (message.kind === "invalid") return refuse(message.message, rpcCodes.invalidRequest, message.id);
        if (message.kind !== "request") return refuse("Every request needs an `id`: it is answered.");
        const { request } = message;
        const from: A2aCaller = { caller, assistant, origin: options.callerOf(caller, headers) };
        if (streaming.includes(request.method)) {
          if (!accepts(headers, "text/event-stream")) {
            return refuse(`${request.method} answers with a stream: Accept must name text/event-stream.`);
          }
          return streamTask(options, from, request, c.get("shutdown"));
        }
        if (!allows(headers, "application/json")) {
          return refuse(`${request.method} answers with JSON: Accept must allow application/json.`);
        }
        return json(
          200,
          await answerRequest(request, options.logger, (each) => handle(a2a, from, each, signal)),
        );
      },
    ),
  ];
}

async function handle(
  a2a: A2aService,
  from: A2aCaller,
  { method, params }: RpcRequest,
  signal: AbortSignal,
): Promise<unknown> {
  switch (method) {
    case "message/send": {
      const send = readParams(sendParams, params);
      const started = await a2a.start(from, send, ["values"]);
      if (send.configuration?.blocking !== false) await a2a.finish(started, signal);
      return toTask(await a2a.find(from, started.taskId), send.configuration?.historyLength ?? 0);
    }
    case "tasks/get":
      return a2a.task(from, readParams(taskParams, params));
    case "tasks/cancel":
      return a2a.cancel(from, readParams(taskParams, params), signal);
    default:
      throw methodNotFound(method, methods);
  }
}

type Followed = { taskId: string; run: Run; afterSeq: number };

/** A failure before the first event is an ordinary answer. */
async function streamTask(
  options: A2aRoutesOptions,
  from: A2aCaller,
  request: RpcRequest,
  shutdown: AbortSignal,
): Promise<Response> {
  const { a2a, runs, feed, logger } = options;
  let followed: Followed;
  try {
    followed = await (request.method === "message/stream"
      ? begin(a2a, from, request)
      : rejoin(options, from, request));
  } catch (error) {
    const failure = describeFailure(error, logger, request.method);
    return json(200, { jsonrpc: "2.0", id: request.id, error: failure });
  }
  const { taskId, run } = followed;
  return sseResponse(
    (signal) =>
      taskFrames(
        {
          ...followed,
          rpcId: request.id,
          feed,
          logger,
          isOver: async () => (await runs.statusOf(run.run_id)) === "over",
          find: () => a2a.find(from, taskId),
        },
        signal,
      ),
    { signal: shutdown },
  );
}

async function begin(a2a: A2aService, from: A2aCaller, { params }: RpcRequest): Promise<Followed> {
  const { taskId, created } = await a2a.start(from, readParams(sendParams, params), ["messages-tuple"]);
  return { taskId, run: created.run, afterSeq: created.afterSeq };
}

/** From the beginning of the run: what was said before is said again. */
async function rejoin(
  { a2a, runs }: A2aRoutesOptions,
  from: A2aCaller,
  { params }: RpcRequest,
): Promise<Followed> {
  const { id, contextId } = readParams(taskParams, params);
  const { taskId, run } = await a2a.find(from, id, contextId);
  return { taskId, run: await runs.find(from.caller.workspaceId, run.run_id), afterSeq: 0 };
}
