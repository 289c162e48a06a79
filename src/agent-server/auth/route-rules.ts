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
  /** A row the caller may not see is told by an event of the stream. */
  absenceAsEvent?: boolean;
  /** What the handler is shown and may change. */
  value(request: GuardedRequest): Record<string, unknown>;
  row?(request: GuardedRequest): GuardedRow | undefined;
  /** What the request writes, where the filter must match that too. */
  written?(request: GuardedRequest): WrittenItem;
  /** The request with what the handler changed. */
  changed?(request: GuardedRequest, value: Record<string, unknown>): GuardedRequest;
};

const bodyOf = (request: GuardedRequest) => (request.body ?? {}) as unknown as Record<string, unknown>;
const paramsOf = (request: GuardedRequest) => (request.params ?? {}) as unknown as Record<string, string>;
const queryOf = (request: GuardedRequest) => (request.query ?? {}) as unknown as Record<string, unknown>;

/** Ids of the path and the whole body; `metadata` is there to be written to. */
function bodyValue(request: GuardedRequest): Record<string, unknown> {
  const body = bodyOf(request);
  return { ...paramsOf(request), ...body, metadata: body.metadata ?? {} };
}

function changedBody(request: GuardedRequest, value: Record<string, unknown>): GuardedRequest {
  const params = paramsOf(request);
  const body = Object.fromEntries(Object.entries(value).filter(([name]) => !(name in params)));
  return { ...request, body: body as never };
}

const thread = (request: GuardedRequest): GuardedRow => ({
  kind: "thread",
  id: paramsOf(request).thread_id ?? "",
  runId: paramsOf(request).run_id,
});
const run = (request: GuardedRequest): GuardedRow => ({ kind: "run", id: paramsOf(request).run_id ?? "" });
const assistant = (request: GuardedRequest): GuardedRow => ({
  kind: "assistant",
  id: paramsOf(request).assistant_id ?? "",
});
const cron = (request: GuardedRequest): GuardedRow => ({ kind: "cron", id: paramsOf(request).cron_id ?? "" });

const item = (holder: (request: GuardedRequest) => Record<string, unknown>) => (request: GuardedRequest) => {
  const { namespace, key } = holder(request);
  return { kind: "item", id: String(key), namespace: namespace as string[] } satisfies GuardedRow;
};

const onThread = (action: AuthAction): RouteRule => ({
  resource: "threads",
  action,
  value: (request) => ({ ...paramsOf(request) }),
  row: thread,
});
const onAssistant = (action: AuthAction): RouteRule => ({
  resource: "assistants",
  action,
  value: (request) => ({ ...paramsOf(request) }),
  row: assistant,
});
const search = (resource: AuthResource): RouteRule => ({
  resource,
  action: "search",
  value: bodyValue,
  changed: changedBody,
});
/** For one: runs ask `threads:create_run` where they are made, whichever way the request came. */
const askedElsewhere = null;

/** Rules of the routes that need more than their path tells. */
const byOperation: Record<string, RouteRule | null> = {
  createThread: { resource: "threads", action: "create", value: bodyValue, changed: changedBody },
  searchThreads: search("threads"),
  countThreads: search("threads"),
  pruneThreads: { resource: "threads", action: "delete", value: (request) => ({ ...bodyOf(request) }) },
  patchThread: { ...onThread("update"), value: bodyValue, changed: changedBody },
  copyThread: { ...onThread("read"), also: "create" },
  cancelRun: {
    ...onThread("update"),
    value: (request) => ({ ...paramsOf(request), action: queryOf(request).action }),
  },
  cancelRuns: { resource: "threads", action: "update", value: (request) => ({ ...bodyOf(request) }) },
  createRun: askedElsewhere,
  streamRun: askedElsewhere,
  waitRun: askedElsewhere,
  createStatelessRun: askedElsewhere,
  streamStatelessRun: askedElsewhere,
  waitStatelessRun: askedElsewhere,
  batchStatelessRuns: askedElsewhere,
  // Components are the project's, for whoever it lets in; assistants:read is asked where an assistant is named.
  loadUiComponent: askedElsewhere,
  getUiFile: askedElsewhere,
  joinRunStream: { ...onThread("read"), absenceAsEvent: true },
  joinStatelessRunStream: {
    resource: "threads",
    action: "read",
    value: (request) => ({ ...paramsOf(request) }),
    row: run,
  },
};

const storeRules: Record<string, RouteRule> = {
  putStoreItem: {
    resource: "store",
    action: "put",
    value: (request) => ({ ...bodyOf(request) }),
    changed: changedBody,
    row: item(bodyOf),
    written: (request) => bodyOf(request) as WrittenItem,
  },
  getStoreItem: {
    resource: "store",
    action: "get",
    value: (request) => ({ ...queryOf(request) }),
    changed: (request, value) => ({ ...request, query: value as never }),
    row: item(queryOf),
  },
  deleteStoreItem: {
    resource: "store",
    action: "delete",
    value: (request) => ({ ...bodyOf(request) }),
    changed: changedBody,
    row: item(bodyOf),
  },
  searchStoreItems: {
    resource: "store",
    action: "search",
    value: (request) => {
      const { namespace_prefix, ...body } = bodyOf(request);
      return { ...body, namespace: namespace_prefix ?? [] };
    },
    changed: (request, { namespace, ...value }) =>
      changedBody(request, { ...value, namespace_prefix: namespace }),
  },
  listStoreNamespaces: {
    resource: "store",
    action: "list_namespaces",
    value: (request) => {
      const { prefix, ...body } = bodyOf(request);
      return { ...body, namespace: prefix ?? [] };
    },
    changed: (request, { namespace, ...value }) => changedBody(request, { ...value, prefix: namespace }),
  },
};

type PathRule = { path: RegExp; methods?: string[]; rule: RouteRule };

/** The rest, most particular first. What is under /threads and named nowhere counts as an update. */
const byPath: PathRule[] = [
  {
    path: /^\/assistants$/,
    rule: { resource: "assistants", action: "create", value: bodyValue, changed: changedBody },
  },
  { path: /^\/assistants\/(search|count)$/, rule: search("assistants") },
  {
    path: /^\/assistants\/\{assistant_id\}$/,
    methods: ["patch"],
    rule: { ...onAssistant("update"), value: bodyValue, changed: changedBody },
  },
  {
    path: /^\/assistants\/\{assistant_id\}$/,
    methods: ["delete"],
    rule: onAssistant("delete"),
  },
  { path: /^\/assistants\/\{assistant_id\}\/latest$/, rule: onAssistant("update") },
  { path: /^\/assistants\/\{assistant_id\}/, rule: onAssistant("read") },
  {
    path: /^(\/threads\/\{thread_id\})?\/runs\/crons$/,
    rule: {
      resource: "crons",
      action: "create",
      value: (request) => ({ ...bodyValue(request), payload: bodyOf(request).input ?? {} }),
      changed: (request, { payload: _payload, ...value }) => changedBody(request, value),
      runsOnThread: true,
    },
  },
  { path: /^\/runs\/crons\/(search|count)$/, rule: search("crons") },
  {
    path: /^\/runs\/crons\/\{cron_id\}$/,
    methods: ["get"],
    rule: { resource: "crons", action: "read", value: (request) => ({ ...paramsOf(request) }), row: cron },
  },
  {
    path: /^\/runs\/crons\/\{cron_id\}$/,
    methods: ["patch"],
    rule: { resource: "crons", action: "update", value: bodyValue, changed: changedBody, row: cron },
  },
  {
    path: /^\/runs\/crons\/\{cron_id\}$/,
    methods: ["delete"],
    rule: { resource: "crons", action: "delete", value: (request) => ({ ...paramsOf(request) }), row: cron },
  },
  {
    path: /^\/threads\/\{thread_id\}\/(history|state\/checkpoint|commands|stream|stream\/events)$/,
    rule: onThread("read"),
  },
  { path: /^\/threads\/\{thread_id\}/, methods: ["get"], rule: onThread("read") },
  { path: /^\/threads\/\{thread_id\}/, methods: ["delete"], rule: onThread("delete") },
  { path: /^\/threads/, rule: onThread("update") },
];

/** The rule of a route; undefined for the routes that touch none of the guarded resources. */
export function ruleFor(spec: Pick<RouteSpec, "operationId" | "method" | "path">): RouteRule | undefined {
  const { operationId } = spec;
  if (operationId in byOperation) return byOperation[operationId] ?? undefined;
  const ofStore = storeRules[operationId];
  if (ofStore) return ofStore;
  return byPath.find(
    ({ path, methods }) => path.test(spec.path) && (methods === undefined || methods.includes(spec.method)),
  )?.rule;
}
