import { createHash } from "node:crypto";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { type BlobContent, fetchToFile, storeStream } from "../../platform/blob/blob-transfer.ts";
import { announceBlob, claimBlob, giveUpBlobs, removeGivenUp } from "../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { OwnDeployments } from "../desired-state/caller-access.ts";
import { beginAttempt, completeUpload, findValidUpload, insertUpload, type Upload } from "./upload-store.ts";

export const maxTarballBytes = 200 * 1024 * 1024;
const lifeMs = 60 * 60_000;

/** An archive may be lost or damaged on its way; a second try shows whether the stored one is. */
const fetches = 2;

/** Requests to one URL at the same time must not write into one blob: the second and later ones have keys of their own. */
export function uploadKey(objectPath: string, attempt: number | null = null): string {
  const key = `uploads/${objectPath}`;
  return attempt === null || attempt === 1 ? key : key.replace(/\.tar\.gz$/, `.${attempt}.tar.gz`);
}

export type UploadServiceOptions = {
  database: Database;
  clock: Clock;
  deployments: OwnDeployments;
  blobs: BlobStore;
  publicUrl(): string;
};

export class UploadService {
  readonly #options: UploadServiceOptions;

  constructor(options: UploadServiceOptions) {
    this.#options = options;
  }

  /** Brings an archive into a new file, as it was when it was uploaded. */
  async save(
    { object_path: objectPath, attempt }: Pick<Upload, "object_path" | "attempt">,
    wanted: BlobContent & { file: string; signal: AbortSignal },
  ): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await fetchToFile(this.#options.blobs, uploadKey(objectPath, attempt), wanted);
      if (outcome === "fetched") return;
      if (tries < fetches) continue;
      throw outcome === "missing" ? gone(objectPath) : damaged(objectPath);
    }
  }

  async open(caller: Caller, deploymentId: string): Promise<{ upload_url: string; object_path: string }> {
    await this.#options.deployments.load(caller, deploymentId);
    const objectPath = `${deploymentId}/${newId()}.tar.gz`;
    const token = newSecret();
    const now = this.#options.clock.now();
    const expiresAt = new Date(now.getTime() + lifeMs);
    const row = {
      objectPath,
      deploymentId,
      workspaceId: caller.workspaceId,
      tokenHash: hash(token),
      now,
      expiresAt,
    };
    await insertUpload(this.#options.database.sql, row);
    return {
      upload_url: `${this.#options.publicUrl()}/v2/uploads/${objectPath}?token=${token}`,
      object_path: objectPath,
    };
  }

  /**
   * The secret in the address is the credential, as with signed addresses of object stores. Whoever did not hear the answer may
   * send the same again; nothing else may be put in its place.
   */
  async receive(objectPath: string, token: string, body: ReadableStream<Uint8Array> | null): Promise<void> {
    const { database, clock, blobs } = this.#options;
    const find = () => findValidUpload(database.sql, objectPath, hash(token), clock.now());
    const known = await find();
    if (!known) throw unknownUpload();
    if (body === null) throw empty();
    if (isFilled(known)) return checkSame(known, await digestOf(body, known.bytes));
    const attempt = await beginAttempt(database.sql, objectPath);
    // Filled a moment ago.
    if (attempt === undefined) return this.receive(objectPath, token, body);
    const key = uploadKey(objectPath, attempt);
    await announceBlob(database.sql, key);
    // The blob before the row: what is named as uploaded is there. What fails here is swept with the others that nobody claims.
    const content = await storeStream(blobs, key, limited(body, find));
    const isKept = await database.transaction(async (tx) => {
      if (!(await completeUpload(tx, objectPath, { ...content, attempt }))) return false;
      if (!(await claimBlob(tx, key))) throw unknownUpload();
      return true;
    });
    if (isKept) return;
    await giveUpBlobs(database.sql, [key]);
    await removeGivenUp({ database, blobs }, [key]);
    const other = await find();
    if (!other || !isFilled(other)) throw unknownUpload();
    checkSame(other, content);
  }
}

/** Ends only well while the archive may be kept. */
async function* limited(body: ReadableStream<Uint8Array>, find: () => Promise<Upload | undefined>) {
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxTarballBytes) throw tooLarge();
    yield chunk;
  }
  if (bytes === 0) throw empty();
  if (!(await find())) throw unknownUpload();
}

/** Stores nothing, and reads no more than the archive that is there has. */
async function digestOf(body: ReadableStream<Uint8Array>, most: number): Promise<BlobContent> {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > most) throw alreadyUsed();
    digest.update(chunk);
  }
  return { sha256: digest.digest("hex"), bytes };
}

function isFilled(upload: Upload): upload is Upload & BlobContent {
  return upload.sha256 !== null && upload.bytes !== null;
}

function checkSame(stored: BlobContent, sent: BlobContent): void {
  if (stored.sha256 !== sent.sha256 || stored.bytes !== sent.bytes) throw alreadyUsed();
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function unknownUpload(): AppError {
  return new AppError({
    code: "upload.unknown",
    kind: "forbidden",
    message: "This upload URL is unknown or expired. Get a new one from POST …/upload-url.",
  });
}

function alreadyUsed(): AppError {
  return new AppError({
    code: "upload.used",
    kind: "forbidden",
    message:
      "Another archive was uploaded to this URL, and it is kept. Get a new URL from POST …/upload-url for this one.",
    headers: { connection: "close" },
  });
}

function tooLarge(): AppError {
  return new AppError({
    code: "upload.too_large",
    kind: "too_large",
    message: `The archive is larger than ${maxTarballBytes} bytes (200 MB). Leave out what is not needed, for example with .dockerignore.`,
    headers: { connection: "close" },
  });
}

function empty(): AppError {
  return new AppError({ code: "upload.empty", kind: "invalid", message: "The archive is empty." });
}

function gone(objectPath: string): AppError {
  return new AppError({
    code: "upload.gone",
    kind: "conflict",
    message: `The archive ${objectPath} is gone from the storage. Upload the source again.`,
  });
}

function damaged(objectPath: string): AppError {
  return new AppError({
    code: "upload.damaged",
    kind: "conflict",
    message: `The archive ${objectPath} in the storage is not the one that was uploaded: its checksum differs. Upload the source again.`,
  });
}
