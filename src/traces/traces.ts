import type { Area } from "../platform/area.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { AppError } from "../platform/errors.ts";
import { every } from "../platform/jobs/job-schedule.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import { annotationItemRoutes } from "./annotation/annotation-item-routes.ts";
import { annotationQueueRoutes } from "./annotation/annotation-queue-routes.ts";
import { annotationRunRoutes } from "./annotation/annotation-run-routes.ts";
import { AnnotationService } from "./annotation/annotation-service.ts";
import { AttachmentLinks, type LinkSeal } from "./attachments/attachment-links.ts";
import { attachmentRoutes } from "./attachments/attachment-routes.ts";
import { datasetFileRoutes } from "./datasets/dataset-file-routes.ts";
import { datasetRoutes } from "./datasets/dataset-routes.ts";
import { DatasetService } from "./datasets/dataset-service.ts";
import { datasetVersionRoutes } from "./datasets/dataset-version-routes.ts";
import { DatasetVersionService } from "./datasets/dataset-version-service.ts";
import { readExampleAttachment } from "./datasets/example-attachment-store.ts";
import { exampleBulkRoutes } from "./datasets/example-bulk-routes.ts";
import { exampleRoutes } from "./datasets/example-routes.ts";
import { comparativeExperimentRoutes } from "./experiments/comparative-experiment-routes.ts";
import { experimentRunRoutes } from "./experiments/experiment-run-routes.ts";
import { feedbackConfigRoutes } from "./feedback/feedback-config-routes.ts";
import { feedbackRoutes } from "./feedback/feedback-routes.ts";
import { FeedbackService } from "./feedback/feedback-service.ts";
import { feedbackTokenRoutes } from "./feedback/feedback-token-routes.ts";
import { FeedbackTokenService } from "./feedback/feedback-token-service.ts";
import { infoRoutes } from "./ingest/info-routes.ts";
import { ingestRoutes } from "./ingest/ingest-routes.ts";
import { IngestService } from "./ingest/ingest-service.ts";
import { foldOvertaken } from "./ingest/parked-service.ts";
import { RunWriter } from "./ingest/run-writer.ts";
import type { SentParts } from "./ingest/sent-parts.ts";
import { type RecordedSpan, SpanRecorder } from "./ingest/span-recorder.ts";
import { otlpRoutes } from "./otlp/otlp-routes.ts";
import { OtlpService } from "./otlp/otlp-service.ts";
import { OneProjectRules } from "./projects/one-project.ts";
import { projectRoutes } from "./projects/project-routes.ts";
import { ProjectService } from "./projects/project-service.ts";
import { runRemovalRoutes } from "./projects/run-removal-routes.ts";
import { settingsRoutes } from "./projects/settings-routes.ts";
import { createBoundedRead } from "./query/bounded-read.ts";
import { createTraceQueries } from "./query/trace-queries.ts";
import { Partitions } from "./runs/partition-service.ts";
import { applyRetention } from "./runs/retention-service.ts";
import { publicRoutes } from "./sharing/public-routes.ts";
import { shareRoutes } from "./sharing/share-routes.ts";
import { ShareService } from "./sharing/share-service.ts";
import { type OwnPrice, priceTable } from "./usage/model-prices.ts";

export type Traces = Area & {
  /** For runs of this very process: resolves once they are committed, throws when they cannot be. */
  ingestRuns(workspaceId: string, project: string, runs: readonly IngestedRun[]): Promise<void>;
  /** For graphs of this process: takes spans without ever waiting or failing. */
  spans: SpanRecorder;
  /** By key: links with which feedback on a run of this process may be given without a key. */
  feedbackUrls(workspaceId: string, runId: string, keys: readonly string[]): Promise<Record<string, string>>;
  /** Projects as exports need them. */
  projects: ProjectService;
};

/** A run by the wire's names; `post` makes it, `patch` adds to it. */
export type IngestedRun = { kind: "post" | "patch"; record: Record<string, unknown> };

export type TracesOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  metrics?: Metrics;
  /** Where this server is reached from outside, for links it gives; that of the request without it. */
  publicUrl?(): string;
  /** Seals the links by which attachments are read without a key. */
  seal: LinkSeal;
  /** Shown to clients beside the workspace's id. */
  workspaceName?(workspaceId: string): Promise<string>;
  /** Prices of models that go before the built-in ones. */
  modelPrices?: readonly OwnPrice[];
};

const minuteMs = 60_000;
const readTimeoutMs = 30_000;

export function createTraces(options: TracesOptions): Traces {
  const { database, clock, logger } = options;
  const links = new AttachmentLinks(options.seal);
  const partitions = new Partitions({ database, clock, logger });
  const projects = new ProjectService({ database, clock });
  const oneProject = new OneProjectRules({ database, projects });
  const feedback = new FeedbackService({ database, clock, oneProject });
  const tokens = new FeedbackTokenService({ database, clock, feedback, publicUrl: options.publicUrl });
  const datasets = new DatasetService({ database });
  const versions = new DatasetVersionService({ database, datasets });
  const shares = new ShareService({ database });
  const read = createBoundedRead(database, readTimeoutMs);
  const annotation = new AnnotationService({ database, read, datasets, projects });
  const writer = new RunWriter({ database, partitions, priceOf: priceTable(options.modelPrices) });
  const ingest = new IngestService({ database, clock, logger, projects, feedback, writer, oneProject });

  async function ingestParts(workspaceId: string, project: string, sent: SentParts): Promise<void> {
    const { errors } = await ingest.ingest(workspaceId, sent, project);
    if (errors.length === 0) return;
    const message = `${errors.length} runs could not be traced: ${errors[0]!.error}`;
    throw new AppError({
      code: "traces.refused",
      kind: "invalid",
      message,
      detail: { errors: errors.slice(0, 20) },
    });
  }

  const spans = new SpanRecorder({
    logger,
    ingest: (workspaceId, project, recorded) => ingestParts(workspaceId, project, spansSent(recorded)),
  });
  options.metrics?.gauge(
    "trace_runs_waiting",
    "Runs waiting to be written.",
    () => writer.stats().queuedRows,
  );
  options.metrics?.gauge(
    "trace_runs_written",
    "Runs written since the start.",
    () => writer.stats().rowsWritten,
  );
  options.metrics?.gauge(
    "trace_spans_dropped",
    "Spans of this process that found no room.",
    () => spans.stats().dropped,
  );

  return {
    routes: [
      ...infoRoutes(),
      ...ingestRoutes(ingest),
      ...otlpRoutes(new OtlpService({ database, ingest, writer })),
      ...attachmentRoutes({ database, clock, links, readOfExample: readExampleAttachment }),
      ...createTraceQueries({ database, clock, links, publicUrl: options.publicUrl, shares }).routes,
      ...projectRoutes(projects),
      ...runRemovalRoutes({ database, projects }),
      ...settingsRoutes({ database, workspaceName: options.workspaceName ?? (async (id) => id) }),
      ...feedbackRoutes(feedback),
      ...feedbackTokenRoutes({ tokens, oneProject, clock }),
      ...feedbackConfigRoutes(database),
      ...datasetRoutes(datasets),
      ...datasetVersionRoutes(versions, datasets),
      ...datasetFileRoutes(datasets),
      ...exampleRoutes({ service: datasets, versions, links, clock }),
      ...exampleBulkRoutes(datasets),
      ...shareRoutes({ shares, datasets, read }),
      ...publicRoutes({ shares, datasets, projects, read }),
      ...comparativeExperimentRoutes({ database, datasets, projects }),
      ...experimentRunRoutes({ database, datasets, read }),
      ...annotationQueueRoutes(annotation),
      ...annotationRunRoutes(annotation),
      ...annotationItemRoutes(annotation),
    ],
    jobHandlers: {},
    workers: [],
    recurringJobs: [
      every({
        kind: "traces.partitions",
        database,
        clock,
        everyMs: 6 * 60 * minuteMs,
        handler: () => partitions.prepare(),
      }),
      every({
        kind: "traces.sweep",
        database,
        clock,
        everyMs: minuteMs,
        handler: async ({ signal }) => {
          await foldOvertaken({ database, clock, writer });
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
        handler: ({ signal }) => applyRetention({ database, clock, logger, partitions }, signal),
      }),
    ],
    ingestRuns: (workspaceId, project, runs) =>
      ingestParts(workspaceId, project, {
        runs: runs.map(({ kind, record }) => ({
          part: String(record.id),
          sent: { kind, record, payloads: {} },
        })),
        attachments: [],
        feedback: [],
        errors: [],
      }),
    spans,
    feedbackUrls: (...asked) => tokens.urlsFor(...asked),
    projects,
    start: () => partitions.prepare(),
    async stop() {
      await spans.stop();
      await writer.drain();
    },
  };
}

function spansSent(recorded: readonly RecordedSpan[]): SentParts {
  const runs = recorded.map(({ kind, record, payloads }) => ({
    part: String(record.id),
    sent: {
      kind,
      record,
      payloads: Object.fromEntries(
        Object.entries(payloads).map(([field, bytes]) => [
          field,
          { bytes, value: JSON.parse(bytes.toString("utf8")) as unknown },
        ]),
      ),
    },
  }));
  return { runs, attachments: [], feedback: [], errors: [] };
}
