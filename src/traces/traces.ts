import type { Area } from "../platform/areas/area.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Metrics } from "../platform/metrics.ts";
import { within } from "../platform/within.ts";
import { OvertakenRuns } from "./ingest/overtaken-runs.ts";
import { type IngestedRun, ingestOwnRuns, ingestSpans } from "./ingest/own-runs.ts";
import type { RunWriter } from "./ingest/run-writer.ts";
import { SpanRecorder } from "./ingest/span-recorder.ts";
import type { ProjectService } from "./projects/project-service.ts";
import { listRetentions } from "./projects/settings-store.ts";
import type { RunStorage } from "./storage/run-storage.ts";
import { traceRoutes } from "./trace-routes.ts";
import { createTraceServices, type TraceServices, type TraceServicesOptions } from "./trace-services.ts";

export type Traces = Area & {
  /** For runs of this very process: resolves once they are committed, throws when they cannot be. */
  ingestRuns(workspaceId: string, project: string, runs: readonly IngestedRun[]): Promise<void>;
  /** For graphs of this process: takes spans without ever waiting or failing. */
  spans: SpanRecorder;
  /** By key: links with which feedback on a run of this process may be given without a key. */
  feedbackUrls(workspaceId: string, runId: string, keys: readonly string[]): Promise<Record<string, string>>;
  /** Runs, for areas that watch and find them. */
  runs: Pick<RunStorage, "reading" | "statistics">;
  /** How exports read runs; the URL is that of the same database, for threads that read it. */
  exportSource: TraceServices["exportSource"];
  /** Projects as exports need them. */
  projects: ProjectService;
};

export type TracesOptions = TraceServicesOptions & {
  metrics?: Metrics;
  /** Shown to clients beside the workspace's id. */
  workspaceName?(workspaceId: string): Promise<string>;
};

const minuteMs = 60_000;
const longestStopMs = 20_000;

export function createTraces(options: TracesOptions): Traces {
  const { database, clock, logger, publicUrl, workspaceName = async (id) => id } = options;
  const services = createTraceServices(options);
  const { ingest, projects, storage, tokens, writer } = services;
  const spans = new SpanRecorder({
    logger,
    ingest: (workspaceId, project, recorded) => ingestSpans(ingest, workspaceId, project, recorded),
  });
  const stopWriting = async () => {
    await spans.stop();
    await writer.drain();
  };
  if (options.metrics) addGauges(options.metrics, writer, spans);
  return {
    routes: traceRoutes({ ...services, database, clock, publicUrl, workspaceName }),
    jobHandlers: {},
    workers: [],
    recurringJobs: recurringJobs(options, services),
    ingestRuns: (workspaceId, project, runs) => ingestOwnRuns(ingest, workspaceId, project, runs),
    spans,
    feedbackUrls: (...asked) => tokens.urlsFor(...asked),
    runs: storage,
    exportSource: services.exportSource,
    projects,
    start: () => storage.prepare(),
    // Where runs are kept may answer nothing at all.
    stop: () => within(longestStopMs, stopWriting()),
  };
}

function recurringJobs(options: TracesOptions, services: TraceServices): Area["recurringJobs"] {
  const { database, clock } = options;
  const { storage, writer, feedback, tokens, projects } = services;
  const overtaken = new OvertakenRuns({ writing: storage.writing, clock, writer });
  return [
    every({
      kind: "traces.partitions",
      database,
      clock,
      everyMs: 6 * 60 * minuteMs,
      handler: () => storage.prepare(),
    }),
    every({
      kind: "traces.sweep",
      database,
      clock,
      everyMs: minuteMs,
      handler: async ({ signal }) => {
        await overtaken.fold();
        await feedback.settleEarly();
        await tokens.removeEnded();
        await projects.purgeDeleted(signal);
      },
    }),
    every({
      kind: "traces.retention",
      database,
      clock,
      everyMs: 60 * minuteMs,
      handler: async ({ signal }) =>
        storage.removal.removeExpired(await listRetentions(database.sql), clock.now(), signal),
    }),
  ];
}

function addGauges(metrics: Metrics, writer: RunWriter, spans: SpanRecorder): void {
  metrics.gauge("trace_runs_waiting", "Runs waiting to be written.", () => writer.stats().queuedRows);
  metrics.gauge("trace_runs_written", "Runs written since the start.", () => writer.stats().rowsWritten);
  metrics.gauge(
    "trace_spans_dropped",
    "Spans of this process that were dropped for lack of space.",
    () => spans.stats().dropped,
  );
}
