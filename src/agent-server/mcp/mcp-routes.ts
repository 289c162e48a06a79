import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { json } from "../../platform/http/route.ts";
import type { Logger } from "../../platform/logger.ts";
import { type AgentRoute, agentRoute } from "../auth/agent-route.ts";
import { asksNothing } from "../auth/route-rules.ts";
import { type RpcResponse, readMessage, rpcCodes, rpcFailure, rpcResponse } from "../json-rpc/json-rpc.ts";
import { accepts, answerRequest, readRpcBody, refuse } from "../json-rpc/rpc-exchange.ts";
import type { RunAnswers } from "../runs/run-responses.ts";
import { type McpCaller, type McpService, protocolVersions } from "./mcp-service.ts";

const tag = "MCP";
const maxBatch = 50;
const answer = z.union([rpcResponse, z.array(rpcResponse)]);

export type McpRoutesOptions = { mcp: McpService; logger: Logger } & Pick<RunAnswers, "callerOf">;

/** Streamable HTTP without sessions. There is no GET: this server sends no messages on its own. */
export function mcpRoutes({ mcp, logger, callerOf }: McpRoutesOptions): AgentRoute[] {
  return [
    agentRoute(
      {
        method: "post",
        path: "/mcp",
        operationId: "postMcp",
        summary: "Model Context Protocol: JSON-RPC messages over Streamable HTTP",
        description: "initialize, ping, tools/list and tools/call; every assistant is a tool.",
        tag,
        access: { kind: "agent", role: "editor", scope: "runs" },
        guard: asksNothing,
        rawBody: true,
        responses: {
          200: { description: "The response, or one per request of a batch.", schema: answer },
          202: { description: "No response: the request had notifications only." },
          400: { description: "Not a message, or not acceptable.", schema: rpcResponse },
        },
      },
      async ({ caller, keyed, request }) => {
        const { headers, signal } = request;
        const refusal = checkHeaders(headers);
        if (refusal) return refusal;
        const body = await readRpcBody(request, keyed);
        if ("refusal" in body) return body.refusal;
        const from: McpCaller = { caller, origin: callerOf(caller, headers), signal };
        return Array.isArray(body.value)
          ? answerBatch(mcp, logger, body.value, from)
          : answerOne(mcp, logger, body.value, from);
      },
    ),
    agentRoute(
      {
        method: "delete",
        path: "/mcp",
        operationId: "deleteMcp",
        summary: "Ends an MCP session; there are none, so this is always 404",
        tag,
        access: { kind: "agent", role: "viewer", scope: ["read", "runs"] },
        guard: asksNothing,
        responses: {},
        errors: [404],
      },
      () => {
        throw new AppError({
          code: "mcp.no_session",
          kind: "not_found",
          message: "This server has no MCP sessions, so there is none to end.",
        });
      },
    ),
  ];
}

function checkHeaders(headers: Headers): Response | undefined {
  if (!accepts(headers, "application/json") || !accepts(headers, "text/event-stream")) {
    return refuse("Accept must include both application/json and text/event-stream.");
  }
  const version = headers.get("mcp-protocol-version");
  if (version !== null && !protocolVersions.some((known) => known === version)) {
    return refuse(`MCP-Protocol-Version must be one of ${protocolVersions.join(", ")}.`);
  }
  return undefined;
}

async function answerOne(
  mcp: McpService,
  logger: Logger,
  value: unknown,
  from: McpCaller,
): Promise<Response> {
  const message = readMessage(value);
  if (message.kind === "invalid") return refuse(message.message, rpcCodes.invalidRequest, message.id);
  if (message.kind !== "request") return new Response(null, { status: 202 });
  return json(200, await answerRequest(message.request, logger, (request) => mcp.handle(request, from)));
}

async function answerBatch(
  mcp: McpService,
  logger: Logger,
  values: unknown[],
  from: McpCaller,
): Promise<Response> {
  if (values.length === 0 || values.length > maxBatch) {
    return refuse(`A batch must have 1 to ${maxBatch} messages.`);
  }
  const answers = await Promise.all(
    values.map(readMessage).map(async (message): Promise<RpcResponse | undefined> => {
      if (message.kind === "invalid")
        return rpcFailure(message.id, { code: rpcCodes.invalidRequest, message: message.message });
      if (message.kind !== "request") return undefined;
      return answerRequest(message.request, logger, (request) => mcp.handle(request, from));
    }),
  );
  const due = answers.filter((each) => each !== undefined);
  return due.length === 0 ? new Response(null, { status: 202 }) : json(200, due);
}
