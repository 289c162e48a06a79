import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { Filter } from "../filter/filter.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import type { BoundedRead } from "./bounded-read.ts";
import { type RunQuery, readCursor, writeCursor } from "./run-query.ts";
import { jsonText } from "./run-query-routes.ts";
import { findRuns } from "./run-query-store.ts";
import { readFilter } from "./run-request.ts";
import { countThreads, listThreads, sumThread, sumThreadFeedback } from "./thread-store.ts";
import { readThreadSelects, threadColumnsOf, writeThreadTrace } from "./thread-view.ts";

const tag = "Trace queries";
const dayMs = 86_400_000;
const id = z.guid().transform((text) => text.toLowerCase());
const text = z.string().nullish();
const threadParams = z.object({ thread_id: z.string().min(1).max(1_000) });
const thread = z.looseObject({ thread_id: z.string(), count: z.int() }).meta({ id: "TraceThread" });
const pageOf = (item: z.ZodType) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable(), has_more: z.boolean() });

const queryBody = z
  .looseObject({
    project_id: id,
    min_start_time: time.nullish().describe("A day ago when left out."),
    max_start_time: time.nullish(),
    filter: text.describe("On the roots of its traces."),
    trace_filter: text.describe("On the root of one of its traces."),
    tree_filter: text.describe("On any run of one of its traces."),
    thread_filter: text.describe("Not served: 422."),
    page_size: z.int().min(1).max(100).nullish(),
    cursor: text,
  })
  .meta({ id: "ThreadQuery" });

const statFields = [
  "turns",
  "first_start_time",
  "last_start_time",
  "last_end_time",
  "latency_p50",
  "latency_p99",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_cost",
  "completion_cost",
  "total_cost",
] as const;

/** Conversations: the traces of a project that carry the same thread id. */
export function threadRoutes({ read, clock }: { read: BoundedRead; clock: Clock }): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v2/threads/query",
        operationId: "queryTraceThreads",
        summary: "Find threads, the most recently active first",
        tag,
        access: reads,
        body: queryBody,
        responses: { 200: { description: "A page of threads.", schema: pageOf(thread) } },
      },
      async ({ caller, body }) => {
        if (body.thread_filter)
          throw invalidField(
            ["body", "thread_filter"],
            "Filters on whole threads are not served; use filter",
          );
        const query: RunQuery = {
          workspaceId: caller.workspaceId,
          projectIds: [body.project_id],
          since: body.min_start_time ?? new Date(clock.now().getTime() - dayMs).toISOString(),
          until: body.max_start_time ?? undefined,
          filter: readFilter(body, "filter"),
          traceFilter: readFilter(body, "trace_filter"),
          treeFilter: readFilter(body, "tree_filter"),
        };
        const limit = body.page_size ?? 20;
        const after = body.cursor ? readThreadCursor(body.cursor) : undefined;
        const found = await read((sql) => listThreads(sql, query, { limit, ...(after && { after }) }));
        const page = found.slice(0, limit);
        const ids = page.map((each) => each.thread_id);
        const feedback = await read((sql) => sumThreadFeedback(sql, query, ids));
        const last = page.at(-1);
        const next = found.length > limit && last ? writeThreadCursor(last) : null;
        const items = page.map((each) => ({
          ...each,
          start_time: each.max_start_time,
          trace_id: each.last_trace_id,
          feedback_stats: feedback.get(each.thread_id) ?? {},
        }));
        return json(200, { items, next_cursor: next, has_more: next !== null });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/threads/{thread_id}/traces",
        operationId: "listThreadTraces",
        summary: "The traces of a thread, oldest first",
        tag,
        access: reads,
        params: threadParams,
        query: z.object({
          project_id: id,
          filter: z.string().optional(),
          selects: queryList(z.string()).optional(),
          page_size: z.coerce.number().int().min(1).max(100).default(20),
          cursor: z.string().optional(),
        }),
        responses: {
          200: { description: "A page of traces.", schema: pageOf(z.looseObject({ trace_id: z.guid() })) },
        },
      },
      async ({ caller, params, query: asked }) => {
        const query = ofThread(caller.workspaceId, asked.project_id, params.thread_id, asked.filter);
        const names = readThreadSelects(asked.selects);
        const after = asked.cursor ? readCursor(asked.cursor, ["query", "cursor"]) : undefined;
        const page = { limit: asked.page_size, order: "asc", after } as const;
        const { rows, next } = await read((sql) => findRuns(sql, query, page, threadColumnsOf(names)));
        const items = rows.map((row) => writeThreadTrace(row, names)).join(",");
        const cursor = JSON.stringify(next && writeCursor(next));
        return jsonText(`{"items":[${items}],"next_cursor":${cursor},"has_more":${next !== null}}`);
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v2/threads/{thread_id}/stats",
        operationId: "sumTraceThread",
        summary: "A thread in numbers",
        tag,
        access: reads,
        params: threadParams,
        query: z.object({
          session_id: id,
          filter: z.string().optional(),
          selects: queryList(z.string()),
        }),
        responses: { 200: { description: "The numbers that were selected.", schema: z.looseObject({}) } },
      },
      async ({ caller, params, query: asked }) => {
        const wanted = new Set(asked.selects.map((name) => name.toLowerCase()));
        const query = ofThread(caller.workspaceId, asked.session_id, params.thread_id, asked.filter);
        const numbers = await read((sql) => sumThread(sql, query, params.thread_id));
        const answer: Record<string, unknown> = {};
        for (const name of statFields) {
          if (wanted.has(name)) answer[name.startsWith("latency") ? `${name}_seconds` : name] = numbers[name];
        }
        if (wanted.has("feedback_stats")) {
          const feedback = await read((sql) => sumThreadFeedback(sql, query, [params.thread_id]));
          answer.feedback_stats = feedback.get(params.thread_id) ?? {};
        }
        return json(200, answer);
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/runs/group",
        operationId: "groupTraceRuns",
        summary: "Find conversations, by pages",
        tag,
        access: reads,
        body: z.looseObject({
          session_id: id,
          group_by: z.literal("conversation"),
          filter: text,
          start_time: time.nullish(),
          end_time: time.nullish(),
          limit: z.int().min(1).max(100).nullish(),
          offset: z.int().min(0).nullish(),
        }),
        responses: {
          200: {
            description: "A page of groups, and how many there are.",
            schema: z.object({ groups: z.array(z.looseObject({ group_key: z.string() })), total: z.int() }),
          },
        },
      },
      async ({ caller, body }) => {
        const query: RunQuery = {
          workspaceId: caller.workspaceId,
          projectIds: [body.session_id],
          since: body.start_time ?? undefined,
          until: body.end_time ?? undefined,
          filter: readFilter(body, "filter"),
        };
        const limit = body.limit ?? 100;
        const total = await read((sql) => countThreads(sql, query));
        const found = await read((sql) => listThreads(sql, query, { limit, offset: body.offset ?? 0 }));
        const page = found.slice(0, limit);
        const ids = page.map((each) => each.thread_id);
        const feedback = await read((sql) => sumThreadFeedback(sql, query, ids));
        const groups = page.map(({ thread_id, ...each }) => ({
          group_key: thread_id,
          filter: `eq(thread_id, ${JSON.stringify(thread_id)})`,
          ...each,
          feedback_stats: feedback.get(thread_id) ?? {},
        }));
        return json(200, { groups, total });
      },
    ),
  ];
}

function ofThread(workspaceId: string, projectId: string, threadId: string, filterText?: string): RunQuery {
  const thread: Filter = { kind: "compare", op: "eq", field: "thread_id", value: threadId };
  const own = filterText ? parseFilter(filterText, ["query", "filter"]) : undefined;
  const filter: Filter = own ? { kind: "and", parts: [thread, { kind: "and", parts: [own] }] } : thread;
  return { workspaceId, projectIds: [projectId], isRoot: true, filter };
}

function writeThreadCursor(last: { max_start_time: string; thread_id: string }): string {
  return Buffer.from(`${last.max_start_time}/${last.thread_id}`).toString("base64url");
}

function readThreadCursor(cursor: string): { startTime: string; threadId: string } {
  const found = /^(\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\/(.+)$/s.exec(
    Buffer.from(cursor, "base64url").toString(),
  );
  if (!found)
    throw invalidField(
      ["body", "cursor"],
      "The cursor is not one this server gave. Begin again without a cursor.",
    );
  return { startTime: found[1]!, threadId: found[2]! };
}
