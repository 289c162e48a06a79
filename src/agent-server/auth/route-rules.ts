import type { RouteRequest, RouteSpec } from "../../platform/http/route.ts";
import type { AuthAction, AuthResource } from "./agent-guard.ts";

export type GuardedRequest = RouteRequest<RouteSpec>;

/** The row a request is about, which the filter of the handler must match. */
export type GuardedRow =
  | { kind: "thread"; id: string /** What the path names of it. */; runId?: string | undefined }
  | { kind: "assistant" | "cron" | "run"; id: string }
  | { kind: "item"; id: string; namespace: readonly string[] };

export type WrittenItem = { namespace: readonly string[]; key: string; value: unknown };

export type RouteRule = {
  resource: AuthResource;
  action: AuthAction;
  /** An event of the same resource that must be permitted too; its filter is not used. */
  also?: AuthAction;
  /** The thread in the path must be one the caller may start runs on. */
  runsOnThread?: boolean;
  /** A row the caller may not see is answered by an event of the stream. */
  absenceAsEvent?: boolean;
  /** What the handler is shown and may change. */
  value(request: GuardedRequest): Record<string, unknown>;
  row?(request: GuardedRequest): GuardedRow | undefined;
  /** What the request writes, where the filter must match that too. */
  written?(request: GuardedRequest): WrittenItem;
  /** The request with what the handler changed. */
  changed?(request: GuardedRequest, value: Record<string, unknown>): GuardedRequest;
};

export const bodyOf = (request: GuardedRequest) => (request.body ?? {}) as unknown as Record<string, unknown>;
export const paramsOf = (request: GuardedRequest) =>
  (request.params ?? {}) as unknown as Record<string, string>;
export const queryOf = (request: GuardedRequest) =>
  (request.query ?? {}) as unknown as Record<string, unknown>;

/** For a route that touches none of the guarded resources, or asks where it finds out what it touches. */
export const asksNothing = null;

/** For runs: `threads:create_run` is checked where a run is created, for every kind of request. */
export const asksWhereMade = null;

/** Asks for one event; shown are the ids of the path, unless `more` changes that. */
export function asks<R extends AuthResource>(
  resource: R,
  action: AuthAction<R>,
  more: Partial<Omit<RouteRule, "resource" | "action" | "also">> & { also?: AuthAction<R> } = {},
): RouteRule {
  return { resource, action, value: (request) => ({ ...paramsOf(request) }), ...more };
}

const rowOf = (kind: "assistant" | "cron" | "run") => (request: GuardedRequest) => ({
  kind,
  id: paramsOf(request)[`${kind}_id`] ?? "",
});

/** For a thread, an assistant, a cron or a run that the path names. */
export const threadInPath = {
  row: (request: GuardedRequest): GuardedRow => {
    const { thread_id: id = "", run_id: runId } = paramsOf(request);
    return { kind: "thread", id, runId };
  },
};
export const assistantInPath = { row: rowOf("assistant") };
export const cronInPath = { row: rowOf("cron") };
export const runInPath = { row: rowOf("run") };

/** Shown are the ids of the path and the whole body, which may be changed; `metadata` is there to be written to. */
export const changesBody = {
  value(request: GuardedRequest): Record<string, unknown> {
    const body = bodyOf(request);
    return { ...paramsOf(request), ...body, metadata: body.metadata ?? {} };
  },
  changed: withBody,
};

/** Only the body counts, not how a handler interprets it. */
export const showsBody = { value: (request: GuardedRequest) => ({ ...bodyOf(request) }) };

/** The request with another body; ids of the path stay where they are. */
export function withBody(request: GuardedRequest, value: Record<string, unknown>): GuardedRequest {
  const params = paramsOf(request);
  const body = Object.fromEntries(Object.entries(value).filter(([name]) => !(name in params)));
  return { ...request, body: body as never };
}
