import type { ClickHouse } from "../platform/clickhouse/clickhouse.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { Logger } from "../platform/logger.ts";
import { AnnotationService } from "./annotation/annotation-service.ts";
import { AttachmentLinks, type LinkSeal } from "./attachments/attachment-links.ts";
import { DatasetService } from "./datasets/dataset-service.ts";
import { DatasetVersionService } from "./datasets/dataset-version-service.ts";
import { EngineNote } from "./engine-note.ts";
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
import { createClickHouseRunStorage } from "./storage/clickhouse/clickhouse-run-storage.ts";
import { ClickHouseRunExportSource } from "./storage/clickhouse/export/clickhouse-run-export-source.ts";
import { FeedbackCopies } from "./storage/clickhouse/feedback/feedback-copies.ts";
import { ClickHouseRunWriting } from "./storage/clickhouse/writing/clickhouse-run-writing.ts";
import { RunExportSource } from "./storage/postgres/export/run-export-source.ts";
import { LeavingRuns } from "./storage/postgres/leaving/leaving-run-service.ts";
import { createPostgresRunStorage } from "./storage/postgres/postgres-run-storage.ts";
import { RemovalOfBoth } from "./storage/removal-of-both.ts";
import type { RunStorage } from "./storage/run-storage.ts";
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
  /** Where runs are kept; undefined: in the database. */
  clickHouse?: ClickHouse | undefined;
};

/** For connections of their own, which exports read with. */
export type ExportUrls = {
  databaseUrl: string;
  clickHouseUrl?: string | undefined;
  /** Whether ClickHouse writes files itself. */
  byEngine?: boolean;
};

export type TraceServices = ReturnType<typeof createTraceServices>;

const readTimeoutMs = 30_000;

/** What the routes and the jobs of the area stand on, each made once. */
export function createTraceServices(options: TraceServicesOptions) {
  const { database, clock, logger, publicUrl } = options;
  const links = new AttachmentLinks(options.seal);
  const storage = chooseStorage(options);
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
    exportSource: (urls: ExportUrls) => chooseExportSource(options, urls),
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

/** Runs in one engine. Those that were in PostgreSQL before are removed there as well, until they have been moved. */
function chooseStorage({
  database,
  clock,
  logger,
  modelPrices,
  clickHouse,
}: TraceServicesOptions): RunStorage {
  const common = { database, clock, logger, priceOf: priceTable(modelPrices), readTimeoutMs };
  const postgres = createPostgresRunStorage(common);
  const note = new EngineNote(database, clickHouse?.where);
  if (!clickHouse)
    return {
      ...postgres,
      async prepare() {
        await postgres.prepare();
        await note.warn(logger);
      },
    };
  const storage = createClickHouseRunStorage({ ...common, clickHouse });
  const leaving = createRunMove({ database, clock, logger, clickHouse, modelPrices });
  return {
    ...storage,
    removal: new RemovalOfBoth(postgres.removal, storage.removal),
    async prepare() {
      await storage.prepare();
      await note.warn(logger);
      if (await leaving.any())
        logger.warn(
          "there are runs in PostgreSQL that are not shown, because traces are kept in ClickHouse now: `treadle traces migrate` moves them",
        );
    },
  };
}

function chooseExportSource(
  { database, clickHouse }: TraceServicesOptions,
  { databaseUrl, clickHouseUrl: url, byEngine = false }: ExportUrls,
): RunExportSource | ClickHouseRunExportSource {
  if (!clickHouse) return new RunExportSource({ database, databaseUrl });
  if (url === undefined) throw new Error("Exports need the address of the ClickHouse that has the runs.");
  return new ClickHouseRunExportSource({ clickHouse, url, database, databaseUrl, byEngine });
}

/** Moves runs from the database to ClickHouse. */
export function createRunMove(
  options: Pick<TraceServicesOptions, "database" | "clock" | "logger" | "modelPrices"> & {
    clickHouse: ClickHouse;
  },
): LeavingRuns {
  const { database, clock, logger, clickHouse, modelPrices } = options;
  const priceOf = priceTable(modelPrices);
  const writing = new ClickHouseRunWriting({ clickHouse, database, clock, logger, priceOf });
  const copies = new FeedbackCopies({ clickHouse, database, repairAfterMs: 0 });
  return new LeavingRuns({
    database,
    destination: {
      write: (rows) => writing.write(rows),
      copyFeedback: (feedback) => copies.copy(feedback),
    },
  });
}
