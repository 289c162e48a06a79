import { z } from "zod";
import type { Clock } from "../../platform/clock.ts";
import { invalidField } from "../../platform/errors.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { parseFilter } from "../filter/parse-filter.ts";
import { projectNotFound } from "../projects/project.ts";
import { projectExists } from "../projects/project-store.ts";
import type { BoundedRead } from "../storage/bounded-read.ts";
import type { RunQuery } from "../storage/run-query.ts";
import { type Bucket, buckets } from "../storage/run-stats.ts";
import type { RunStatistics } from "../storage/run-storage.ts";
import { reads } from "../wire/access.ts";
import { time } from "../wire/time-schema.ts";
import { runStatsBody } from "./run-query-schemas.ts";
import { readRunQuery } from "./run-request.ts";

const tag = "Trace queries";
const dayMs = 86_400_000;
const bucketMs: Record<Bucket, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: dayMs,
  week: 7 * dayMs,
  month: 28 * dayMs,
};
const maxBuckets = 2_000;

const stats = z
  .object({
    run_count: z.int(),
    error_rate: z.number().nullable(),
    streaming_rate: z.number().nullable(),
    latency_p50: z.number().nullable().describe("Seconds."),
    latency_p99: z.number().nullable().describe("Seconds."),
    first_token_p50: z.number().nullable().describe("Seconds from the start."),
    first_token_p99: z.number().nullable().describe("Seconds from the start."),
    total_tokens: z.number(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    median_tokens: z.number().nullable(),
    total_cost: z.number().nullable(),
    prompt_cost: z.number().nullable(),
    completion_cost: z.number().nullable(),
    last_run_start_time: z.string().nullable(),
  })
  .meta({ id: "TraceStats" });

const feedbackStats = z.record(
  z.string(),
  z.object({ n: z.int(), avg: z.number().nullable(), values: z.record(z.string(), z.int()) }),
);

const runStats = stats.extend({ feedback_stats: feedbackStats }).meta({ id: "TraceRunStats" });

const projectStats = z
  .object({
    session_id: z.guid(),
    bucket: z.enum(buckets),
    start_time: z.string(),
    end_time: z.string(),
    total: stats,
    buckets: z.array(stats.extend({ bucket_start: z.string() })),
  })
  .meta({ id: "TraceProjectStats" });

const tokensNote =
  "Tokens and costs are those the runs used themselves; with is_root true those of their whole traces.";

export function runStatsRoutes(options: {
  read: BoundedRead;
  statistics: RunStatistics;
  clock: Clock;
}): Route[] {
  const { read, statistics, clock } = options;
  return [
    route(
      {
        method: "post",
        path: "/api/v1/runs/stats",
        operationId: "sumTraceRuns",
        summary: "Runs in numbers",
        description: tokensNote,
        tag,
        access: reads,
        body: runStatsBody,
        responses: { 200: { description: "The numbers.", schema: runStats } },
      },
      async ({ caller, body }) => {
        const query = readRunQuery(caller.workspaceId, body);
        const sums = await statistics.sum(query);
        const feedback = await statistics.sumFeedback(query);
        return json(200, { ...sums, feedback_stats: feedback });
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/sessions/{session_id}/stats",
        operationId: "sumTraceProject",
        summary: "Statistics of a project's runs over time",
        description: `Times without runs are left out. ${tokensNote}`,
        tag,
        access: reads,
        params: z.object({ session_id: z.guid() }),
        query: z.object({
          bucket: z.enum(buckets).default("hour"),
          start_time: time.optional().describe("Default: a week before the end."),
          end_time: time.optional().describe("Now when left out."),
          is_root: z.stringbool().optional(),
          run_type: z.string().optional(),
          filter: z.string().optional(),
        }),
        responses: { 200: { description: "The numbers.", schema: projectStats } },
        errors: [404],
      },
      async ({ caller, params, query: asked }) => {
        const { workspaceId } = caller;
        const window = readWindow(asked, clock.now());
        const query: RunQuery = {
          workspaceId,
          projectIds: [params.session_id],
          isRoot: asked.is_root,
          runType: asked.run_type,
          filter: asked.filter ? parseFilter(asked.filter, ["query", "filter"]) : undefined,
          ...window,
        };
        if (!(await read((sql) => projectExists(sql, workspaceId, params.session_id)))) {
          throw projectNotFound(params.session_id);
        }
        const sums = await statistics.sumByTime(query, asked.bucket);
        return json(200, {
          session_id: params.session_id,
          bucket: asked.bucket,
          start_time: window.since,
          end_time: window.until,
          ...sums,
        });
      },
    ),
  ];
}

type Asked = { bucket: Bucket; start_time?: string | undefined; end_time?: string | undefined };

function readWindow(asked: Asked, now: Date): { since: string; until: string } {
  const until = asked.end_time ?? now.toISOString();
  const since = asked.start_time ?? new Date(Date.parse(until) - 7 * dayMs).toISOString();
  const spanMs = Date.parse(until) - Date.parse(since);
  if (spanMs <= 0) throw invalidField(["query", "end_time"], "end_time must be after start_time");
  if (spanMs / bucketMs[asked.bucket] > maxBuckets) {
    throw invalidField(
      ["query", "bucket"],
      `More than ${maxBuckets} buckets. Request larger buckets or a shorter time.`,
    );
  }
  return { since, until };
}
