import { AppError } from "../../platform/errors.ts";
import { json } from "../../platform/http/route.ts";
import {
  defaultMaxBodyBytes,
  parseJson,
  readBytes,
  requireJsonType,
} from "../../platform/http/validation/body.ts";
import type { Logger } from "../../platform/logger.ts";
import {
  publicRpcError,
  type RpcError,
  type RpcId,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
  rpcFailure,
  rpcResult,
} from "./json-rpc.ts";

/** The JSON of a body, or the answer to one that is none. */
export async function readRpcBody(
  request: Request,
  keyed: boolean,
): Promise<{ value: unknown } | { refusal: Response }> {
  requireJsonType(request.headers.get("content-type"), keyed);
  const bytes = await readBytes(request, defaultMaxBodyBytes);
  try {
    const value = parseJson(bytes);
    if (value !== undefined) return { value };
    return { refusal: refuse("The body is empty; send a JSON-RPC message.", rpcCodes.parseError) };
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== "unprocessable") throw error;
    const message = error.issues?.[0]?.msg ?? error.message;
    return { refusal: refuse(message, rpcCodes.parseError) };
  }
}

/** 400: what was sent is no message at all, or not for us. Every refusal carries `detail`, here beside the error. */
export function refuse(message: string, code: number = rpcCodes.invalidRequest, id: RpcId = null): Response {
  return json(400, { ...rpcFailure(id, { code, message }), detail: message });
}

/** Answers one request; a failure becomes an error in the answer, and what is ours to mend goes to the log. */
export async function answerRequest(
  request: RpcRequest,
  logger: Logger,
  handle: (request: RpcRequest) => Promise<unknown>,
): Promise<RpcResponse> {
  try {
    return rpcResult(request.id, await handle(request));
  } catch (error) {
    return rpcFailure(request.id, describeFailure(error, logger, request.method));
  }
}

export function describeFailure(error: unknown, logger: Logger, method: string): RpcError {
  const known = publicRpcError(error);
  if (known && known.code !== rpcCodes.internalError) return known;
  logger[known ? "warn" : "error"]({ err: error, rpc_method: method }, "a JSON-RPC request failed");
  return known ?? { code: rpcCodes.internalError, message: "Internal error. See the server's log." };
}

/** Whether `Accept` names the type itself. */
export function accepts(headers: Headers, type: string): boolean {
  return acceptedTypes(headers).includes(type);
}

/** Whether `Accept` allows the type, by name, by wildcard or by its absence. */
export function allows(headers: Headers, type: string): boolean {
  const types = acceptedTypes(headers);
  const family = `${type.split("/", 1)[0]}/*`;
  return types.length === 0 || [type, family, "*/*"].some((each) => types.includes(each));
}

function acceptedTypes(headers: Headers): string[] {
  return (headers.get("accept") ?? "")
    .split(",")
    .map((part) => part.split(";", 1)[0]!.trim().toLowerCase())
    .filter(Boolean);
}
