import { z } from "zod";
import { AppError } from "../../platform/errors.ts";

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

export type RpcId = string | number | null;
export type RpcRequest = { id: RpcId; method: string; params: Record<string, unknown> };
export type RpcError = { code: number; message: string; data?: unknown };
export type RpcResponse = { jsonrpc: "2.0"; id: RpcId } & ({ result: unknown } | { error: RpcError });

export const rpcResponse = z
  .object({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.number(), z.null()]),
    result: z.unknown().optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
    detail: z.string().optional().describe("The error's message again, where the status is 400."),
  })
  .meta({ id: "JsonRpcResponse" });

export type RpcMessage =
  | { kind: "request"; request: RpcRequest }
  /** A notification: the client waits for no answer. */
  | { kind: "notification"; method: string }
  /** An answer to a question we asked. */
  | { kind: "response" }
  | { kind: "invalid"; id: RpcId; message: string };

/** One JSON value as a message. Positional parameters are refused: neither protocol has any. */
export function readMessage(value: unknown): RpcMessage {
  const invalid = (message: string, id: RpcId = null): RpcMessage => ({ kind: "invalid", id, message });
  if (!isObject(value)) return invalid("A JSON-RPC message is an object.");
  const id = readId(value.id);
  if (id === undefined) return invalid("`id` must be a string or a number.");
  if (value.jsonrpc !== "2.0") return invalid('`jsonrpc` must be "2.0".', id);
  if (value.method === undefined && ("result" in value || "error" in value)) return { kind: "response" };
  if (typeof value.method !== "string") return invalid("`method` must be a string.", id);
  if (value.params !== undefined && value.params !== null && !isObject(value.params)) {
    return invalid("`params` must be an object.", id);
  }
  if (!("id" in value)) return { kind: "notification", method: value.method };
  return { kind: "request", request: { id, method: value.method, params: value.params ?? {} } };
}

/** Null also when there is none; undefined when it cannot be an id. */
function readId(id: unknown): RpcId | undefined {
  if (id === undefined || id === null) return null;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function rpcResult(id: RpcId, result: unknown): RpcResponse {
  return { jsonrpc: "2.0", id, result };
}

export function rpcFailure(id: RpcId, error: RpcError): RpcResponse {
  return { jsonrpc: "2.0", id, error };
}

export function methodNotFound(method: string, known: readonly string[]): AppError {
  return new AppError({
    code: "rpc.method_not_found",
    kind: "not_found",
    message: `Method not found: "${method}". This endpoint has ${known.join(", ")}.`,
  });
}

export function invalidParams(message: string): AppError {
  return new AppError({ code: "rpc.invalid_params", kind: "invalid", message });
}

/** Parses with a schema; the message names the first field that is wrong. */
export function readParams<Schema extends z.ZodType>(schema: Schema, params: unknown): z.output<Schema> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || "params";
  throw invalidParams(`Invalid params: ${where}: ${issue?.message ?? "not as expected"}`);
}

/** Codes that differ from those of the error's kind. */
const codesByError: Readonly<Record<string, number>> = {
  "rpc.method_not_found": rpcCodes.methodNotFound,
  "a2a.task_not_found": -32001,
  "a2a.task_not_cancelable": -32002,
  "a2a.push_not_supported": -32003,
  "a2a.unsupported": -32004,
  "a2a.version_not_supported": -32009,
};

/** Undefined for what the caller must not see. */
export function publicRpcError(error: unknown): RpcError | undefined {
  if (!(error instanceof AppError) || error.kind === "internal") return undefined;
  const known = codesByError[error.code];
  if (known !== undefined) return { code: known, message: error.message };
  const ours = error.kind === "unavailable" || error.kind === "bad_gateway";
  return { code: ours ? rpcCodes.internalError : rpcCodes.invalidParams, message: error.message };
}
