import { createHash } from "node:crypto";
import { AppError, errorMessage } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Caller } from "../access/caller.ts";
import { unprocessable } from "../validation/validation.ts";

/** The request a key identifies: the key belongs to one workspace and one operation. */
export type IdempotencyKey = { workspaceId: string; operation: string; key: string; requestHash: string };

export type KeptAnswer = { status: number; headers: Record<string, string>; body: string };

export type IdempotencyOutcome =
  | { state: "claimed"; claimId: string }
  | { state: "kept"; answer: KeptAnswer }
  | { state: "in_progress" }
  | { state: "other_request" };

/** Remembers answers for a day. A claim that was never finished (the process died) can be taken over later. */
export type IdempotencyStore = {
  claim(key: IdempotencyKey): Promise<IdempotencyOutcome>;
  keep(key: IdempotencyKey, claimId: string, answer: KeptAnswer): Promise<void>;
  release(key: IdempotencyKey, claimId: string): Promise<void>;
};

export type OnceRequest = {
  workspaceId: string;
  /** Part of what must match: a stored response may contain a secret, which is only for the caller of the same request. */
  asker: string;
  operation: string;
  key: string;
  /** Path and query. */
  target: string;
  bytes: Uint8Array;
};

/**
 * A user's credentials are not alike: a key that an admin made for somebody, or one limited by scopes, must not be
 * given what that person got with another one.
 */
export function askerOf(caller: Caller): string {
  const { via, userId, role, apiKeyId, sessionId, principal } = caller;
  return JSON.stringify([via, userId, role, apiKeyId, sessionId, principal?.identity]);
}

const keyPattern = /^[\x21-\x7e]{1,255}$/;
const keptHeaders = ["content-type", "location", "content-location"];

/** Runs `answer` unless the same key was answered before; then that answer is given again. */
export async function runOnce(
  store: IdempotencyStore,
  request: OnceRequest,
  logger: Logger,
  answer: () => Promise<Response>,
): Promise<Response> {
  if (!keyPattern.test(request.key)) {
    throw invalidKey("The key must be 1 to 255 visible ASCII characters");
  }
  const { workspaceId, operation, key } = request;
  const id = { workspaceId, operation, key, requestHash: hashOf(request) };
  const outcome = await store.claim(id);
  switch (outcome.state) {
    case "kept":
      return new Response(outcome.answer.status === 204 ? null : outcome.answer.body, {
        status: outcome.answer.status,
        headers: { ...outcome.answer.headers, "idempotency-replayed": "true" },
      });
    case "other_request":
      throw invalidKey("This key was used for another request. Use a new key for a new request");
    case "in_progress":
      throw new AppError({
        code: "request.in_progress",
        kind: "conflict",
        message: "A request with this Idempotency-Key is still in progress. Try again in a moment.",
        headers: { "retry-after": "1" },
      });
    case "claimed":
      return settle(store, id, outcome.claimId, await answer(), logger);
  }
}

/** The work is done by now, so a failure to remember it is logged and does not spoil the answer. */
async function settle(
  store: IdempotencyStore,
  id: IdempotencyKey,
  claimId: string,
  response: Response,
  logger: Logger,
): Promise<Response> {
  try {
    if (!isFinal(response)) {
      await store.release(id, claimId);
      return response;
    }
    const body = await response.clone().text();
    const headers = Object.fromEntries(
      keptHeaders.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    await store.keep(id, claimId, { status: response.status, headers, body });
  } catch (error) {
    logger.warn(
      { operation: id.operation, reason: errorMessage(error) },
      "an idempotent response was not stored",
    );
  }
  return response;
}

/** Refusals that another moment or another credential would not repeat. */
const passingRefusals = new Set([401, 403, 408, 409, 425, 429]);

function isFinal(response: Response): boolean {
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) return false;
  const { status } = response;
  return (status >= 200 && status < 300) || (status >= 400 && status < 500 && !passingRefusals.has(status));
}

function hashOf(request: OnceRequest): string {
  const hash = createHash("sha256").update(request.asker).update("\0");
  return hash.update(request.target).update("\0").update(request.bytes).digest("hex");
}

function invalidKey(msg: string): AppError {
  return unprocessable([{ loc: ["header", "idempotency-key"], msg, type: "value_error" }]);
}
