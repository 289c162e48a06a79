import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json } from "../../platform/http/route.ts";
import { type StreamConnection, sseResponse } from "../../platform/http/server/sse.ts";
import type { Logger } from "../../platform/logger.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asksNothing } from "../auth/route-rules.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import {
  methodNotFound,
  type RpcRequest,
  type RpcResponse,
  readMessage,
  readParams,
  rpcCodes,
  rpcFailure,
  rpcResponse,
  rpcResult,
} from "../json-rpc/json-rpc.ts";
import { accepts, allows, describeFailure, readRpcBody, refuse } from "../json-rpc/rpc-exchange.ts";
import type { RunAnswers } from "../runs/run-responses.ts";
import type { RunService } from "../runs/run-service.ts";
import { chooseDialect, type Dialect, type Operation, versionHeader } from "./a2a-dialect.ts";
import type { SendParams } from "./a2a-message.ts";
import type { A2aCaller, A2aService } from "./a2a-service.ts";
import { taskFrames } from "./a2a-stream.ts";
import { isTerminal, type TaskRun, taskStateOf, toTask } from "./a2a-task.ts";
import { a2aV1 } from "./a2a-v1.ts";
import { a2aV03 } from "./a2a-v03.ts";

export type A2aRoutesOptions = {
  a2a: A2aService;
  runs: Pick<RunService, "statusOf">;
  feed: ThreadFeed;
  logger: Logger;
} & Pick<RunAnswers, "callerOf">;

const tag = "A2A";
/** The first is the default. */
const dialects = [a2aV03, a2aV1] as const;
const methods = dialects.flatMap((dialect) => Object.keys(dialect.methods));
const card = z.looseObject({ protocolVersion: z.string(), name: z.string(), url: z.string() });

/** Assistants as agents of the Agent2Agent protocol. */
export function a2aRoutes(options: A2aRoutesOptions): AgentRoute[] {
  const { a2a } = options;
  return [
    agentRoute(
      {
        method: "get",
        path: "/.well-known/agent-card.json",
        operationId: "getAgentCard",
        summary: "The agent card of an assistant",
        tag,
        access: { kind: "agent", role: "viewer", scope: ["read", "runs"] },
        guard: asksNothing,
        query: z.object({ assistant_id: z.string().min(1) }),
        responses: { 200: { description: "The card.", schema: card } },
        errors: [404],
      },
      async ({ caller, query, request }) =>
        json(200, await a2a.card(caller, query.assistant_id, request.headers)),
    ),
    agentRoute(
      {
        method: "post",
        path: "/a2a/{assistant_id}",
        operationId: "postA2a",
        summary: "Agent2Agent: one JSON-RPC request to an assistant",
        description: `Versions 0.3 and 1.0, as ${versionHeader} says; 0.3 without it. ${methods.join(", ")}. The streaming ones respond with server-sent events of JSON-RPC responses.`,
        tag,
        access: { kind: "agent", role: "editor", scope: "runs" },
        guard: asksNothing,
        params: z.object({ assistant_id: z.string().min(1) }),
        rawBody: true,
        responses: {
          200: { description: "The response, or a stream of responses." },
          400: { description: "Not a request, or not acceptable.", schema: rpcResponse },
        },
        errors: [404],
      },
      async ({ caller, keyed, params, request: sent, connection }) => {
        const { headers, signal } = sent;
        const assistant = await a2a.assistant(caller, params.assistant_id);
        const body = await readRpcBody(sent, keyed);
        if ("refusal" in body) return body.refusal;
        const message = readMessage(body.value);
        if (message.kind === "invalid") return refuse(message.message, rpcCodes.invalidRequest, message.id);
        if (message.kind !== "request")
          return refuse("Every request needs an `id`, because it gets a response.");
        const { request } = message;
        const from: A2aCaller = { caller, assistant, origin: options.callerOf(caller, headers) };
        const asked = readVersion(sent, request, options.logger);
        if ("refusal" in asked) return asked.refusal;
        const { dialect } = asked;
        const operation = dialect.methods[request.method];
        if (operation === "stream" || operation === "subscribe") {
          if (!accepts(headers, "text/event-stream")) {
            return refuse(`${request.method} responds with a stream: Accept must include text/event-stream.`);
          }
          return streamTask(options, from, { dialect, operation, request }, connection);
        }
        if (!allows(headers, "application/json")) {
          return refuse(`${request.method} responds with JSON: Accept must allow application/json.`);
        }
        return json(200, await answer(options, from, { dialect, operation, request }, signal));
      },
    ),
  ];
}

type Asked = { dialect: Dialect; operation: Operation | undefined; request: RpcRequest };

/** A version that is not spoken is an answer like any other. */
function readVersion(
  { headers, url }: Request,
  { id, method }: RpcRequest,
  logger: Logger,
): { dialect: Dialect } | { refusal: Response } {
  try {
    const version = headers.get(versionHeader) ?? new URL(url).searchParams.get(versionHeader);
    return { dialect: chooseDialect(dialects, version, method) };
  } catch (error) {
    const failure = a2aV1.error(describeFailure(error, logger, method), error);
    return { refusal: json(200, rpcFailure(id, failure)) };
  }
}

async function answer(
  { a2a, logger }: A2aRoutesOptions,
  from: A2aCaller,
  asked: Asked,
  signal: AbortSignal,
): Promise<RpcResponse> {
  const { dialect, request } = asked;
  try {
    return rpcResult(request.id, await handle(a2a, from, asked, signal));
  } catch (error) {
    const failure = describeFailure(error, logger, request.method);
    return rpcFailure(request.id, dialect.error(failure, error));
  }
}

async function handle(
  a2a: A2aService,
  from: A2aCaller,
  { dialect, operation, request }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const { method, params } = request;
  switch (operation) {
    case "send": {
      const send = readSend(dialect, params);
      const started = await a2a.start(from, send, ["values"]);
      if (send.configuration?.blocking !== false) await a2a.finish(started, signal);
      const found = await a2a.find(from, started.taskId);
      return dialect.sent(toTask(found, send.configuration?.historyLength ?? 0));
    }
    case "get":
      return dialect.task(await a2a.task(from, readParams(dialect.taskParams, params)));
    case "list": {
      const { tasks, ...page } = await a2a.list(from, readParams(dialect.listParams, params));
      return { tasks: tasks.map(dialect.task), ...page };
    }
    case "cancel":
      return dialect.task(await a2a.cancel(from, readParams(dialect.taskParams, params), signal));
    case "push":
      throw pushNotSupported();
    case "extendedCard":
      throw unsupported("This agent has one card for everybody.");
    default:
      throw methodNotFound(method, Object.keys(dialect.methods));
  }
}

function readSend(dialect: Dialect, params: unknown): SendParams {
  const send = readParams(dialect.sendParams, params);
  if (send.configuration?.pushNotificationConfig) throw pushNotSupported();
  return send;
}

function pushNotSupported(): AppError {
  return new AppError({
    code: "a2a.push_not_supported",
    kind: "invalid",
    message: "This agent sends no push notifications. Stream the task, or poll it.",
  });
}

function unsupported(message: string): AppError {
  return new AppError({ code: "a2a.unsupported", kind: "invalid", message });
}

type Followed = { taskId: string; run: TaskRun["run"]; afterSeq: number };

/** A failure before the first event is an ordinary answer. */
async function streamTask(
  options: A2aRoutesOptions,
  from: A2aCaller,
  { dialect, operation, request }: Asked,
  connection: StreamConnection,
): Promise<Response> {
  const { a2a, runs, feed, logger } = options;
  let followed: Followed;
  try {
    followed = await (operation === "stream"
      ? begin(a2a, from, readSend(dialect, request.params))
      : rejoin(options, from, dialect, request));
  } catch (error) {
    const failure = dialect.error(describeFailure(error, logger, request.method), error);
    return json(200, rpcFailure(request.id, failure));
  }
  const { taskId, run } = followed;
  return sseResponse(
    (signal) =>
      taskFrames(
        {
          ...followed,
          dialect,
          rpcId: request.id,
          feed,
          logger,
          isOver: async () => (await runs.statusOf(run.run_id)) === "over",
          find: () => a2a.find(from, taskId),
        },
        signal,
      ),
    connection,
  );
}

async function begin(a2a: A2aService, from: A2aCaller, send: SendParams): Promise<Followed> {
  const { taskId, created } = await a2a.start(from, send, ["messages-tuple"]);
  return { taskId, run: created.run, afterSeq: created.afterSeq };
}

/** From the beginning of the run: earlier events are sent again. */
async function rejoin(
  { a2a }: A2aRoutesOptions,
  from: A2aCaller,
  dialect: Dialect,
  { params }: RpcRequest,
): Promise<Followed> {
  const { id, contextId } = readParams(dialect.taskParams, params);
  const found = await a2a.find(from, id, contextId);
  const state = taskStateOf(found);
  if (!dialect.tellsPastTasks && isTerminal(state)) {
    throw unsupported(
      `Task ${found.taskId} is ${state}: there is nothing to subscribe to. Ask for the task.`,
    );
  }
  return { taskId: found.taskId, run: found.run, afterSeq: 0 };
}
