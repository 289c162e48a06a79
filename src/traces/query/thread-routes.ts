import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, jsonText, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { RunQuery } from "../storage/run-query.ts";
import type { RunReading, RunStatistics } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { readCursor, writeCursor } from "./run-cursor.ts";
import { readFilter } from "./run-request.ts";
import { ofThread } from "./thread-query.ts";
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
    min_start_time: time.nullish().describe("Default: a day ago."),
    max_start_time: time.nullish(),
    filter: text.describe("On the roots of its traces."),
    trace_filter: text.describe("On the root of one of its traces."),
    tree_filter: text.describe("On any run of one of its traces."),
    thread_filter: text.describe("Not served: 422."),
    page_size: z.int().min(1).max(100).nullish(),
    cursor: text,
  })
  .meta({ id: "ThreadQuery" });

/** Conversations: the traces of a project that carry the same thread id. */
export function threadRoutes(options: {
  runs: RunReading;
  statistics: RunStatistics;
  clock: Clock;
}): Route[] {
  const { runs, statistics, clock } = options;
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
            "Filters on whole threads are not supported; use filter",
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
        const found = await statistics.listThreads(query, { limit, ...(after && { after }) });
        const page = found.slice(0, limit);
        const ids = page.map((each) => each.thread_id);
        const feedback = await statistics.sumThreadFeedback(query, ids);
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
        const { rows, next } = await runs.find(query, page, threadColumnsOf(names));
        const items = rows.map((row) => writeThreadTrace(row, names)).join(",");
        const cursor = JSON.stringify(next && writeCursor(next));
        return jsonText(200, `{"items":[${items}],"next_cursor":${cursor},"has_more":${next !== null}}`);
      },
    ),
  ];
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
      "This server did not return this cursor. Start again without a cursor.",
    );
  return { startTime: found[1]!, threadId: found[2]! };
}
