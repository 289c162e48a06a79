import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { queryList } from "../../platform/http/validation/query.ts";
import type { RunQuery } from "../storage/run-query.ts";
import type { RunStatistics } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { readFilter } from "./run-request.ts";
import { ofThread } from "./thread-query.ts";

const tag = "Trace queries";
const id = z.guid().transform((text) => text.toLowerCase());
const text = z.string().nullish();
const threadParams = z.object({ thread_id: z.string().min(1).max(1_000) });
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

/** Conversations in numbers. */
export function threadStatsRoutes({ statistics }: { statistics: RunStatistics }): Route[] {
  return [
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
        const numbers = await statistics.sumThread(query, params.thread_id);
        const answer: Record<string, unknown> = {};
        for (const name of statFields) {
          if (wanted.has(name)) answer[name.startsWith("latency") ? `${name}_seconds` : name] = numbers[name];
        }
        if (wanted.has("feedback_stats")) {
          const feedback = await statistics.sumThreadFeedback(query, [params.thread_id]);
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
        const total = await statistics.countThreads(query);
        const found = await statistics.listThreads(query, { limit, offset: body.offset ?? 0 });
        const page = found.slice(0, limit);
        const ids = page.map((each) => each.thread_id);
        const feedback = await statistics.sumThreadFeedback(query, ids);
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
