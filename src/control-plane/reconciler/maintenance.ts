import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { dropOwnDatabase } from "../../platform/db/own-database.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { deleteArtifact, listUnusedArtifacts } from "../builds/artifact-store.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { pruneEvents } from "../desired-state/revision-store.ts";
import { pruneLogs } from "../logs/log-store.ts";
import { pruneMetrics } from "../metrics/metric-store.ts";
import { pruneInstances } from "../runtimes/instance-store.ts";
import { deleteExpiredUploads } from "../uploads/upload-store.ts";
import { listPurgeable, purgeDeployment } from "./observation-store.ts";

const dayMs = 24 * 60 * 60_000;
const keepLogsMs = 7 * dayMs;
const keepLines = 100_000;
const keepArtifactsMs = dayMs;
const keepRevisions = 5;
const keepEvents = 300;

export type MaintenanceOptions = { database: Database; clock: Clock; logger: Logger; folder: string };

export async function purge(
  { database, folder }: Pick<MaintenanceOptions, "database" | "folder">,
  deployment: Pick<Deployment, "id" | "database_name">,
): Promise<void> {
  await dropOwnDatabase(database.sql, deployment.database_name);
  for (const kind of ["uploads", "logs", "homes"]) {
    await rm(join(folder, kind, deployment.id), { recursive: true, force: true });
  }
  // Last: while the row is there, a failure above is tried again.
  await purgeDeployment(database.sql, deployment.id);
}

/** Removes what deleted deployments left behind, and what has grown old. */
export async function maintain(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { database, clock, logger, folder } = options;
  const now = clock.now();
  for (const deployment of await listPurgeable(database.sql, now)) {
    signal.throwIfAborted();
    try {
      await purge(options, deployment);
    } catch (error) {
      logger.warn(
        { deployment: deployment.id, reason: errorMessage(error) },
        "a deleted deployment could not be purged, trying again later",
      );
    }
  }
  const unused = await listUnusedArtifacts(
    database.sql,
    new Date(now.getTime() - keepArtifactsMs),
    keepRevisions,
  );
  for (const artifact of unused) {
    signal.throwIfAborted();
    // The row first: what has no row is not trusted, however much of the folder is left.
    await deleteArtifact(database.sql, artifact.key);
    if (dirname(artifact.path) === join(folder, "artifacts"))
      await rm(artifact.path, { recursive: true, force: true });
  }
  await deleteExpiredUploads(database.sql, now);
  for (const path of await pruneInstances(database.sql, new Date(now.getTime() - keepLogsMs))) {
    await rm(path, { force: true });
    await rm(`${path}.1`, { force: true });
  }
  await pruneMetrics(database.sql, new Date(now.getTime() - dayMs));
  await pruneEvents(database.sql, keepEvents);
  await pruneLogs(database.sql, { before: new Date(now.getTime() - keepLogsMs), maxLines: keepLines });
}
