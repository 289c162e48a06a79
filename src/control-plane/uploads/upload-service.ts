import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import type { OwnDeployments } from "../desired-state/caller-access.ts";
import { completeUpload, findOpenUpload, insertUpload } from "./upload-store.ts";

export const maxTarballBytes = 200 * 1024 * 1024;
const lifeMs = 60 * 60_000;

export type UploadServiceOptions = {
  database: Database;
  clock: Clock;
  deployments: OwnDeployments;
  folder: string;
  publicUrl(): string;
};

export class UploadService {
  readonly #options: UploadServiceOptions;

  constructor(options: UploadServiceOptions) {
    this.#options = options;
  }

  fileOf(objectPath: string): string {
    return join(this.#options.folder, "uploads", objectPath);
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

  /** The secret in the address is the credential, as with signed addresses of object stores. */
  async receive(objectPath: string, token: string, body: ReadableStream<Uint8Array> | null): Promise<void> {
    const upload = await findOpenUpload(
      this.#options.database.sql,
      objectPath,
      hash(token),
      this.#options.clock.now(),
    );
    if (!upload) throw unknownUpload();
    if (body === null) throw empty();
    const file = this.fileOf(objectPath);
    const partial = `${file}.${newId()}.part`;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const digest = createHash("sha256");
    let bytes = 0;
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        digest.update(chunk);
        if (bytes > maxTarballBytes) done(tooLarge());
        else done(null, chunk);
      },
    });
    try {
      const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
      await pipeline(source, count, createWriteStream(partial, { mode: 0o600 }));
      if (bytes === 0) throw empty();
      await rename(partial, file);
    } finally {
      await rm(partial, { force: true });
    }
    if (
      !(await completeUpload(this.#options.database.sql, objectPath, { sha256: digest.digest("hex"), bytes }))
    )
      throw unknownUpload();
  }
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function unknownUpload(): AppError {
  return new AppError({
    code: "upload.unknown",
    kind: "forbidden",
    message: "This upload URL is unknown, expired or already used. Get a new one from POST …/upload-url.",
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
