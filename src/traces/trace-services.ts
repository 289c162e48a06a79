import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import { AnnotationService } from "./annotation/annotation-service.ts";
import { AttachmentLinks, type LinkSeal } from "./attachments/attachment-links.ts";
import { DatasetService } from "./datasets/dataset-service.ts";
import { DatasetVersionService } from "./datasets/dataset-version-service.ts";
import { ExperimentRuns } from "./experiments/experiment-runs.ts";
import { FeedbackService } from "./feedback/feedback-service.ts";
import { FeedbackTokenService } from "./feedback/feedback-token-service.ts";
import { IngestService } from "./ingest/ingest-service.ts";
import { RunWriter } from "./ingest/run-writer.ts";
import { OtlpService } from "./otlp/otlp-service.ts";
import { OneProjectRules } from "./projects/one-project.ts";
import { ProjectService } from "./projects/project-service.ts";
import { SavedViews } from "./projects/saved-view-service.ts";
import { ShareService } from "./sharing/share-service.ts";
import { createBoundedRead } from "./storage/bounded-read.ts";
import { RunExportSource } from "./storage/postgres/export/run-export-source.ts";
import { createPostgresRunStorage } from "./storage/postgres/postgres-run-storage.ts";
import { type OwnPrice, priceTable } from "./usage/model-prices.ts";

export type TraceServicesOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  /** Where this server is reached from outside, for links it gives; that of the request without it. */
  publicUrl?(): string;
  /** Seals the links by which attachments are read without a key. */
  seal: LinkSeal;
  /** Prices of models that go before the built-in ones. */
  modelPrices?: readonly OwnPrice[];
};

export type TraceServices = ReturnType<typeof createTraceServices>;

const readTimeoutMs = 30_000;

/** What the routes and the jobs of the area stand on, each made once. */
export function createTraceServices(options: TraceServicesOptions) {
  const { database, clock, logger, publicUrl } = options;
  const links = new AttachmentLinks(options.seal);
  const priceOf = priceTable(options.modelPrices);
  const storage = createPostgresRunStorage({ database, clock, logger, priceOf, readTimeoutMs });
  const { writing, reading: runs, statistics, removal } = storage;
  const projects = new ProjectService({ database, clock, statistics, removal });
  const savedViews = new SavedViews({ database, clock, projects });
  const oneProject = new OneProjectRules({ runs, projects });
  const feedback = new FeedbackService({ database, clock, oneProject, changes: storage.feedback });
  const tokens = new FeedbackTokenService({ database, clock, feedback, publicUrl });
  const datasets = new DatasetService({ database, runs });
  const versions = new DatasetVersionService({ database, datasets });
  const shares = new ShareService({ database });
  const read = createBoundedRead(database, readTimeoutMs);
  const annotation = new AnnotationService({ database, runs, datasets, projects });
  const experimentRuns = new ExperimentRuns({ database, datasets, read, runs });
  const writer = new RunWriter({ writing });
  const ingest = new IngestService({ database, clock, logger, projects, feedback, writer, oneProject });
  const otlp = new OtlpService({ ingest, writing });
  return {
    storage,
    exportSource: new RunExportSource({ database }),
    links,
    projects,
    savedViews,
    oneProject,
    feedback,
    tokens,
    datasets,
    versions,
    shares,
    read,
    annotation,
    experimentRuns,
    writer,
    ingest,
    otlp,
  };
}
