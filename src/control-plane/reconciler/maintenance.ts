import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { removeAll } from "../../platform/blob/blob-transfer.ts";
import { operatorWords } from "../../platform/blob/platform-failure.ts";
import { giveUpBlobs, removeGivenUp, sweepUnclaimed } from "../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { dropOwnDatabase, withOwnDatabaseLock } from "../../platform/db/own-database.ts";
import type { Logger } from "../../platform/logger.ts";
import { removeArtifactFolder } from "../builds/artifact-folder.ts";
import { artifactBlobKey } from "../builds/artifact-shelf.ts";
import {
  type Artifact,
  deleteArtifactAsSeen,
  deleteIdleArtifact,
  listArtifactsOf,
  listUnusedArtifacts,
} from "../builds/artifact-store.ts";
import { podBlobPrefix } from "../builds/pods/build-pod.ts";
import { listBuildPodsOf } from "../builds/pods/build-pod-store.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { pruneEvents } from "../desired-state/revision-store.ts";
import { deleteSegmentsOf } from "../logs/log-segment-store.ts";
import { pruneLogs, untoldTimes } from "../logs/log-store.ts";
import { pruneMetrics } from "../metrics/metric-store.ts";
import { pruneInstances } from "../runtimes/instance-store.ts";
import { uploadKey } from "../uploads/upload-service.ts";
import {
  deleteUnfilledUpload,
  deleteUpload,
  deleteUploadsOf,
  listExpiredUploads,
  listUnusedUploads,
  noteUse,
} from "../uploads/upload-store.ts";
import { freeUploads } from "./free-uploads.ts";
import { namedBlobs } from "./named-blobs.ts";
import { listPurgeable, purgeDeployment } from "./observation-store.ts";

const dayMs = 24 * 60 * 60_000;
const keepArtifactsMs = dayMs;
const keepRevisions = 5;
const keepEvents = 300;
/** After the end of their URLs, which are good for an hour. */
const keepUploadsMs = dayMs;
const uploadsAtOnce = 1_000;

export type MaintenanceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  folder: string;
  blobs: BlobStore;
  logs: { retentionDays: number; maxLines: number };
};

export async function purge(
  { database, folder, blobs, logger }: Pick<MaintenanceOptions, "database" | "folder" | "blobs" | "logger">,
  deployment: Pick<Deployment, "id" | "database_name">,
): Promise<void> {
  const { id, database_name: name } = deployment;
  const { sql } = database;
  await withOwnDatabaseLock(sql, name, (connection) => dropOwnDatabase(connection, name));
  // Without the lock: a storage may take long, and several processes may do this at once. Rows go before their blobs, so
  // that nothing is read from here on.
  await deleteUploadsOf(sql, id);
  await deleteSegmentsOf(sql, id);
  for (const key of await listArtifactsOf(sql, id)) {
    const packed = await database.transaction(async (tx) => {
      const deleted = await deleteIdleArtifact(tx, key);
      if (!deleted) return null;
      const keys = [artifactBlobKey({ key, ...deleted })];
      await giveUpBlobs(tx, keys);
      return keys;
    });
    if (!packed) continue;
    await removeGivenUp({ database, blobs }, packed);
    await removeArtifactFolder(join(folder, "artifacts", key));
  }
  const builds = (await listBuildPodsOf(sql, id)).map(podBlobPrefix);
  for (const prefix of [`uploads/${id}/`, `logs/${id}/`, ...builds]) {
    await freeUploads(blobs, prefix, logger);
    await removeAll(blobs, prefix);
  }
  for (const kind of ["uploads", "logs", "homes"]) {
    await rm(join(folder, kind, id), { recursive: true, force: true });
  }
  // The row last: while it is there, a failure above is tried again. A process that was paused since before the deletion
  // may have made the database again; with the row gone it makes none.
  await withOwnDatabaseLock(sql, name, async (connection) => {
    await dropOwnDatabase(connection, name);
    await purgeDeployment(connection, id);
  });
}

/** Removes what deleted deployments left behind, and what has grown old; last what needs the storage, which may be away. */
export async function maintain(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { database, clock, logger, blobs, logs } = options;
  const now = clock.now();
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const logsBefore = ago(logs.retentionDays * dayMs);
  for (const path of await pruneInstances(database.sql, logsBefore)) {
    await rm(path, { force: true });
    await rm(`${path}.1`, { force: true });
  }
  await pruneMetrics(database.sql, ago(dayMs));
  await pruneEvents(database.sql, keepEvents);
  const untoldBefore = ago(logs.retentionDays * untoldTimes * dayMs);
  await pruneLogs(database.sql, { before: logsBefore, untoldBefore, maxLines: logs.maxLines });
  /** What fails is no reason to leave the rest. */
  const attempt = async (about: object, what: string, work: () => Promise<unknown>) => {
    signal.throwIfAborted();
    try {
      await work();
    } catch (error) {
      logger.warn({ ...about, reason: operatorWords(error) }, `${what}, trying again later`);
    }
  };
  for (const deployment of await listPurgeable(database.sql, now)) {
    await attempt({ deployment: deployment.id }, "a deleted deployment could not be purged", () =>
      purge(options, deployment),
    );
  }
  for (const artifact of await listUnusedArtifacts(database.sql, ago(keepArtifactsMs), keepRevisions)) {
    await attempt({ artifact: artifact.key }, "an unused build could not be removed", () =>
      removeArtifact(options, artifact),
    );
  }
  for (const path of await listExpiredUploads(database.sql, now)) {
    await attempt({ upload: path }, "an upload that was never completed could not be removed", () =>
      removeUpload(options, path),
    );
  }
  for (const path of await listUnusedUploads(database.sql, ago(keepUploadsMs), uploadsAtOnce)) {
    await attempt({ upload: path }, "an upload that no revision uses could not be removed", () =>
      removeUnusedUpload(options, path),
    );
  }
  await attempt({}, "blobs that nothing names could not be removed", () =>
    sweepUnclaimed({ database, blobs, now, named: namedBlobs }, signal),
  );
  // Of what nobody completes any more.
  for (const kind of ["uploads", "artifacts", "logs", "pod-builds"]) {
    await attempt({ kind }, "parts of blobs could not be removed", () =>
      freeUploads(blobs, `${kind}/`, logger, ago(dayMs)),
    );
  }
}

async function removeArtifact(
  { database, folder, blobs }: MaintenanceOptions,
  artifact: Artifact,
): Promise<void> {
  const keys = artifact.sha256 === null ? [] : [artifactBlobKey(artifact)];
  // The row first: what has no row is not trusted, however much of the folder is left.
  const isGone = await database.transaction(async (tx) => {
    if (!(await deleteArtifactAsSeen(tx, artifact))) return false;
    await giveUpBlobs(tx, keys);
    return true;
  });
  if (!isGone) return;
  // The folder before the blob, of which it is written down that it is to be removed.
  if (dirname(artifact.path) === join(folder, "artifacts")) await removeArtifactFolder(artifact.path);
  await removeGivenUp({ database, blobs }, keys);
}

async function removeUpload({ database, blobs }: MaintenanceOptions, path: string): Promise<void> {
  const keys = [uploadKey(path)];
  const isGone = await database.transaction(async (tx) => {
    if (!(await deleteUnfilledUpload(tx, path))) return false;
    await giveUpBlobs(tx, keys);
    return true;
  });
  if (isGone) await removeGivenUp({ database, blobs }, keys);
}

/** Uploaded, and then named by nothing. One that is named at this moment is held by who names it. */
async function removeUnusedUpload({ database, blobs }: MaintenanceOptions, path: string): Promise<void> {
  const keys = await database.transaction(async (tx) => {
    if (await noteUse(tx, path)) return [];
    const upload = await deleteUpload(tx, path);
    if (!upload) return [];
    const given = [uploadKey(path, upload.attempt)];
    await giveUpBlobs(tx, given);
    return given;
  });
  await removeGivenUp({ database, blobs }, keys);
}
