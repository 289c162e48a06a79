import type { Cors } from "../access/cors.ts";
import { addSecurityHeaders } from "../access/security-headers.ts";

/** Adds what every answer carries. Answers of `fetch` and redirects have locked headers and are copied. */
export function decorate(
  response: Response,
  requestHeaders: Headers | null,
  requestId: string,
  cors: Cors,
  isPublic: boolean,
): Response {
  let answer = response;
  try {
    answer.headers.set("x-request-id", requestId);
  } catch {
    answer = new Response(response.body, {
      status: response.status,
      statusText: response.statusText,
      headers: new Headers(response.headers),
    });
  }
  decorateHeaders(answer.headers, requestHeaders?.get("origin") ?? null, requestId, cors, isPublic);
  return answer;
}

export type AnswerHeaders = Pick<Headers, "has" | "get" | "set" | "append">;

/** What is not negotiable for anybody's answers. */
export function decorateForeign(headers: AnswerHeaders, requestId: string): void {
  headers.set("x-request-id", requestId);
  headers.set("x-content-type-options", "nosniff");
}

export function decorateHeaders(
  headers: AnswerHeaders,
  origin: string | null,
  requestId: string,
  cors: Cors,
  isPublic: boolean,
): void {
  headers.set("x-request-id", requestId);
  addSecurityHeaders(headers, isPublic);
  if (origin) cors.decorate(headers, origin);
}
