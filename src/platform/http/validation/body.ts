import { AppError, errorMessage } from "../../errors.ts";
import { dropPrototypeKeys, isJsonTooDeep, maxJsonDepth } from "../../json-depth.ts";
import { unprocessable } from "./validation.ts";

export const defaultMaxBodyBytes = 25 * 1024 * 1024;

/** Refuses by the declared length, before a byte is read. Returns the length, or null when none is declared. */
export function checkDeclaredLength(headers: Headers, maxBytes: number): number | null {
  const declared = headers.get("content-length");
  if (declared === null) return null;
  const length = Number(declared);
  if (length > maxBytes) throw tooLarge(maxBytes);
  return Number.isSafeInteger(length) ? length : null;
}

/** The bytes of a body that must fit in memory. A body without a declared length is counted while it arrives. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = checkDeclaredLength(request.headers, maxBytes);
  if (declared === 0) return new Uint8Array();
  try {
    if (declared !== null) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
      return bytes;
    }
    if (request.body === null) return new Uint8Array();
    const chunks: Uint8Array[] = [];
    for await (const chunk of request.body.pipeThrough(byteLimit(maxBytes))) chunks.push(chunk);
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError({
      code: "request.body_unreadable",
      kind: "invalid",
      message: "The request body ended before it was complete. Send it again.",
      detail: { reason: errorMessage(error) },
      cause: error,
    });
  }
}

/** For handlers that read the body themselves: the same request, but its body fails beyond the limit. */
export function limitRawBody(request: Request, maxBytes: number): Request {
  if (request.method === "GET" || request.method === "HEAD") return request;
  if (checkDeclaredLength(request.headers, maxBytes) !== null || request.body === null) return request;
  return new Request(request, {
    body: request.body.pipeThrough(byteLimit(maxBytes)),
    duplex: "half",
  } as RequestInit);
}

function byteLimit(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let seen = 0;
  return new TransformStream({
    transform(chunk, controller) {
      seen += chunk.byteLength;
      if (seen > maxBytes) controller.error(tooLarge(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/**
 * With a key JSON may come under any type or none. Without one its type must be JSON: forms, plain text and bodies
 * without a type are what a page of another site can send without asking.
 */
export function requireJsonType(contentType: string | null, keyed: boolean): void {
  if (keyed) return;
  const type = (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();
  if (type === "application/json" || type.endsWith("+json")) return;
  throw new AppError({
    code: "request.unsupported_media_type",
    kind: "unsupported_media_type",
    message:
      "Without an API key a body must be sent with Content-Type: application/json. Add that header, or send X-Api-Key.",
  });
}

/** Undefined for an empty body; anything that is not JSON throws the 422. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw invalidJson("The body is not valid UTF-8");
  }
  if (text.trim() === "") return undefined;
  if (isJsonTooDeep(text)) throw invalidJson(`The body is nested deeper than ${maxJsonDepth} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidJson(`The body is not valid JSON: ${syntaxReason(error)}`);
  }
  return dropPrototypeKeys(text, value);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The engine quotes a piece of the body, which may hold a secret: keep only the position. */
function syntaxReason(error: unknown): string {
  const position = /position (\d+)/.exec(errorMessage(error))?.[1];
  return position === undefined
    ? "it ends too early or has an unexpected character"
    : `at character ${position}`;
}

function invalidJson(msg: string): AppError {
  return unprocessable([{ loc: ["body"], msg, type: "json_invalid" }]);
}

function tooLarge(maxBytes: number): AppError {
  return new AppError({
    code: "request.too_large",
    kind: "too_large",
    message: `The request body is larger than the limit of ${maxBytes} bytes. Send less at a time.`,
    // What was not read is still on the wire; the connection cannot serve another request.
    headers: { connection: "close" },
  });
}
