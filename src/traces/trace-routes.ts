import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { Route } from "../platform/http/route.ts";
import { annotationItemChangeRoutes } from "./annotation/annotation-item-change-routes.ts";
import { annotationItemRoutes } from "./annotation/annotation-item-routes.ts";
import { annotationQueueRoutes } from "./annotation/annotation-queue-routes.ts";
import { annotationRunChangeRoutes } from "./annotation/annotation-run-change-routes.ts";
import { annotationRunRoutes } from "./annotation/annotation-run-routes.ts";
import { attachmentRoutes } from "./attachments/attachment-routes.ts";
import { datasetChangeRoutes } from "./datasets/dataset-change-routes.ts";
import { datasetExportRoutes } from "./datasets/dataset-export-routes.ts";
import { datasetFileRoutes } from "./datasets/dataset-file-routes.ts";
import { datasetRoutes } from "./datasets/dataset-routes.ts";
import { datasetSplitRoutes } from "./datasets/dataset-split-routes.ts";
import { datasetVersionRoutes } from "./datasets/dataset-version-routes.ts";
import { readExampleAttachment } from "./datasets/example-attachment-store.ts";
import { exampleBulkRoutes } from "./datasets/example-bulk-routes.ts";
import { exampleChangeRoutes } from "./datasets/example-change-routes.ts";
import { exampleRoutes } from "./datasets/example-routes.ts";
import { exampleUploadRoutes } from "./datasets/example-upload-routes.ts";
import { comparativeExperimentRoutes } from "./experiments/comparative-experiment-routes.ts";
import { experimentRunRoutes } from "./experiments/experiment-run-routes.ts";
import { scoreComparisonRoutes } from "./experiments/score-comparison-routes.ts";
import { feedbackChangeRoutes } from "./feedback/feedback-change-routes.ts";
import { feedbackConfigRoutes } from "./feedback/feedback-config-routes.ts";
import { feedbackLinkRoutes } from "./feedback/feedback-link-routes.ts";
import { feedbackRoutes } from "./feedback/feedback-routes.ts";
import { feedbackTokenRoutes } from "./feedback/feedback-token-routes.ts";
import { infoRoutes } from "./ingest/info-routes.ts";
import { ingestRoutes } from "./ingest/ingest-routes.ts";
import { otlpRoutes } from "./otlp/otlp-routes.ts";
import { projectChangeRoutes } from "./projects/project-change-routes.ts";
import { projectRoutes } from "./projects/project-routes.ts";
import { runRemovalRoutes } from "./projects/run-removal-routes.ts";
import { savedViewRoutes } from "./projects/saved-view-routes.ts";
import { settingsRoutes } from "./projects/settings-routes.ts";
import { createTraceQueries } from "./query/trace-queries.ts";
import { datasetShareRoutes } from "./sharing/dataset-share-routes.ts";
import { publicDatasetRoutes } from "./sharing/public-dataset-routes.ts";
import { publicLinkRoutes } from "./sharing/public-link-routes.ts";
import { publicRunRoutes } from "./sharing/public-run-routes.ts";
import { publicRunV2Routes } from "./sharing/public-run-v2-routes.ts";
import { runShareRoutes } from "./sharing/run-share-routes.ts";
import { runShareV2Routes } from "./sharing/run-share-v2-routes.ts";
import type { TraceServices } from "./trace-services.ts";

export type TraceRoutesOptions = TraceServices & {
  database: Database;
  clock: Clock;
  publicUrl?: (() => string) | undefined;
  /** Shown to clients beside the workspace's id. */
  workspaceName(workspaceId: string): Promise<string>;
};

export function traceRoutes(options: TraceRoutesOptions): Route[] {
  return [
    ...runRoutes(options),
    ...projectAndFeedbackRoutes(options),
    ...datasetAndExampleRoutes(options),
    ...sharingRoutes(options),
    ...reviewRoutes(options),
  ];
}

/** Runs: sending and reading them. */
function runRoutes(options: TraceRoutesOptions): Route[] {
  const { database, clock, ingest, otlp, links, shares, publicUrl, storage, read } = options;
  return [
    ...infoRoutes(),
    ...ingestRoutes(ingest),
    ...otlpRoutes(otlp),
    ...attachmentRoutes({ database, clock, links, readOfExample: readExampleAttachment }),
    ...createTraceQueries({ storage, read, clock, links, publicUrl, shares }).routes,
  ];
}

function projectAndFeedbackRoutes(options: TraceRoutesOptions): Route[] {
  const { database, clock, projects, workspaceName, feedback, tokens, oneProject } = options;
  return [
    ...projectRoutes(projects),
    ...projectChangeRoutes(projects),
    ...savedViewRoutes(options.savedViews),
    ...runRemovalRoutes({ removal: options.storage.removal, projects }),
    ...settingsRoutes({ database, workspaceName }),
    ...feedbackRoutes(feedback),
    ...feedbackChangeRoutes(feedback),
    ...feedbackTokenRoutes({ tokens, oneProject, clock }),
    ...feedbackLinkRoutes(tokens),
    ...feedbackConfigRoutes(database),
  ];
}

function datasetAndExampleRoutes({ datasets, versions, links, clock }: TraceRoutesOptions): Route[] {
  return [
    ...datasetRoutes(datasets),
    ...datasetChangeRoutes(datasets),
    ...datasetVersionRoutes(versions),
    ...datasetSplitRoutes(versions, datasets),
    ...datasetFileRoutes(datasets),
    ...datasetExportRoutes(datasets, versions),
    ...exampleUploadRoutes(datasets),
    ...exampleRoutes({ service: datasets, versions, links, clock }),
    ...exampleChangeRoutes({ service: datasets, links, clock }),
    ...exampleBulkRoutes(datasets),
  ];
}

function sharingRoutes({ shares, datasets, projects, storage }: TraceRoutesOptions): Route[] {
  const runs = storage.reading;
  return [
    ...runShareRoutes({ shares, runs }),
    ...runShareV2Routes({ shares, runs }),
    ...datasetShareRoutes({ shares, datasets }),
    ...publicRunRoutes({ shares, runs }),
    ...publicRunV2Routes({ shares, runs }),
    ...publicDatasetRoutes({ shares, datasets, projects }),
    ...publicLinkRoutes(),
  ];
}

/** What people do with runs afterwards: compare experiments, work through queues. */
function reviewRoutes(options: TraceRoutesOptions): Route[] {
  const { database, datasets, projects, experimentRuns, annotation, read, storage } = options;
  return [
    ...comparativeExperimentRoutes({ database, datasets, projects }),
    ...experimentRunRoutes(experimentRuns),
    ...scoreComparisonRoutes({ datasets, read, statistics: storage.statistics }),
    ...annotationQueueRoutes(annotation),
    ...annotationRunRoutes(annotation),
    ...annotationRunChangeRoutes(annotation),
    ...annotationItemRoutes(annotation),
    ...annotationItemChangeRoutes(annotation),
  ];
}
