import type { Readable } from "node:stream";
import type { BlobStore } from "../../../platform/blob/blob-store.ts";
import { storeStream } from "../../../platform/blob/blob-transfer.ts";
import {
  announceBlob,
  claimBlob,
  giveUpBlobs,
  removeGivenUp,
} from "../../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database, Sql } from "../../../platform/db/database.ts";
import type { SecretBox } from "../../../platform/encryption/secret-box.ts";
import { AppError } from "../../../platform/errors.ts";
import { newId } from "../../../platform/ids.ts";
import { noteProgress } from "../../desired-state/revision-store.ts";
import { showsSecret } from "../../encryption/bearer.ts";
import { buildPodTokenContext } from "../../encryption/sealed-columns.ts";
import { type LogLine, plainLine } from "../../logs/log.ts";
import { insertLogs } from "../../logs/log-store.ts";
import { Transfers } from "../transfers.ts";
import {
  type BuildFailure,
  type BuildLine,
  type BuildPod,
  type LineBatch,
  logFullCode,
  mostLogBytes,
  plainFailure,
  resultBlobKey,
  sourceBlobKey,
} from "./build-pod.ts";
import { countLogOf, endLogOf, readOpenBuildPod, saveBuildReport, takeBatch } from "./build-pod-store.ts";

export type BuildPodServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  blobs: BlobStore;
  /** Of one build, as of what is kept of a deployment's builds. */
  logMaxLines: number;
};

/** A pod that reads slowly holds a connection to the storage, which has few. */
const sourceLimits = { atOnce: 8, perGroup: 2, transferMs: 5 * 60_000, busy: sourceBusy };

/** What the pods of builds ask for and report. Each shows the token of its one build, until that has ended. */
export class BuildPodService {
  readonly #options: BuildPodServiceOptions;
  readonly #receiving = new Set<string>();
  readonly #transfers = new Transfers(sourceLimits);

  constructor(options: BuildPodServiceOptions) {
    this.#options = options;
  }

  async require(buildId: string, headers: Headers): Promise<BuildPod> {
    const { database, secretBox } = this.#options;
    const pod = await readOpenBuildPod(database.sql, buildId);
    // One answer for a build that does not exist, that has ended, and for a token that is not its own.
    const token = pod && { sealed: pod.token_sealed, context: buildPodTokenContext(pod.id) };
    if (!token || !showsSecret(headers, token, secretBox)) throw unknown();
    return pod;
  }

  async source(pod: BuildPod, signal: AbortSignal): Promise<Readable> {
    return this.#transfers.open({ id: pod.id, group: pod.workspace_id }, async () => {
      const body = await this.#options.blobs.get(sourceBlobKey(pod), { signal });
      if (body === null) throw unknown();
      return body.stream;
    });
  }

  /** With the time of this server: clocks of nodes differ. Each batch of a process once, however often it is sent. */
  async addLines(
    pod: BuildPod,
    { batch, lines }: { batch?: LineBatch | undefined; lines: readonly BuildLine[] },
  ) {
    const { database, clock } = this.#options;
    const at = clock.now();
    const place = { deploymentId: pod.deployment_id, revisionId: pod.revision_id, kind: "build" as const };
    const rows: LogLine[] = lines.map(({ text, origin }) => ({
      at,
      level: "INFO",
      origin,
      message: plainLine(text),
    }));
    const note = lines.findLast(({ progress }) => progress !== undefined);
    const isStored = await database.transaction(async (tx) => {
      if (batch && !(await takeBatch(tx, pod.id, batch))) return true;
      const stored = await this.#takeRoom(tx, pod, rows);
      await insertLogs(tx, place, stored);
      if (note) {
        const told = { kind: "build", message: plainLine(note.text), progress: note.progress! };
        await noteProgress(tx, pod.revision_id, told, at);
      }
      return stored === rows;
    });
    if (!isStored) throw logFull();
  }

  /** The lines that may be stored: those given, or where they are too many, once, a line that says so. */
  async #takeRoom(tx: Sql, pod: BuildPod, rows: LogLine[]): Promise<LogLine[]> {
    const limits = { lines: this.#options.logMaxLines, bytes: mostLogBytes };
    const bytes = rows.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0);
    if (await countLogOf(tx, pod.id, { lines: rows.length, bytes, limits })) return rows;
    if (!(await endLogOf(tx, pod.id, limits.lines))) return [];
    const message = `The log of this build is full: ${limits.lines} lines (TREADLE_LOG_MAX_LINES) or ${limits.bytes / 1024 ** 2} MB. What it prints from here on is not stored.`;
    return [{ at: this.#options.clock.now(), level: "WARNING", origin: "platform", message }];
  }

  async fail(pod: BuildPod, failure: BuildFailure): Promise<void> {
    await saveBuildReport(this.#options.database.sql, pod.id, { kind: "failed", ...plainFailure(failure) });
  }

  async receive(pod: BuildPod, body: ReadableStream<Uint8Array> | null): Promise<void> {
    if (body === null) throw empty();
    if (this.#receiving.has(pod.id)) throw busy();
    this.#receiving.add(pod.id);
    try {
      await this.#store(pod, body as unknown as AsyncIterable<Uint8Array>);
    } finally {
      this.#receiving.delete(pod.id);
    }
  }

  /** The blob before the report: what is named as built is there. */
  async #store(pod: BuildPod, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const { database, blobs } = this.#options;
    const attempt = newId();
    const key = resultBlobKey(pod, attempt);
    await announceBlob(database.sql, key);
    const stored = await storeStream(blobs, key, chunks).catch(async (error: unknown) => {
      await giveUpBlobs(database.sql, [key]);
      throw error;
    });
    const isSaved = await database.transaction(async (tx) => {
      if (!(await saveBuildReport(tx, pod.id, { kind: "built", attempt, ...stored }))) return false;
      if (!(await claimBlob(tx, key))) throw unknown();
      return true;
    });
    if (isSaved) return;
    await giveUpBlobs(database.sql, [key]);
    await removeGivenUp({ database, blobs }, [key]);
    throw unknown();
  }
}

function unknown(): AppError {
  return new AppError({
    code: "build.unknown",
    kind: "not_found",
    message: "There is no such build for this credential.",
  });
}

function logFull(): AppError {
  return new AppError({
    code: logFullCode,
    kind: "too_large",
    message: "The log of this build is full. Go on without it.",
  });
}

function busy(): AppError {
  return new AppError({
    code: "build.upload_busy",
    kind: "rate_limited",
    message: "The result of this build is being stored already. Try again in a moment.",
    headers: { "retry-after": "2" },
  });
}

function sourceBusy(): AppError {
  return new AppError({
    code: "build.source_busy",
    kind: "rate_limited",
    message: "Other sources are being fetched, or this one is already. Try again in a moment.",
    headers: { "retry-after": "2" },
  });
}

function empty(): AppError {
  return new AppError({ code: "build.result_empty", kind: "invalid", message: "The result is empty." });
}
