import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { BlobStore, BlobUpload } from "./blob-store.ts";

export type BlobContent = { sha256: string; bytes: number };

/** Storages take parts of 5 MB and more; the last may be smaller. */
const partBytes = 8 * 1024 * 1024;

/** Stores what comes, part by part. What fails in the middle leaves nothing, and the earlier object as it was. */
export async function storeStream(
  store: BlobStore,
  key: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<BlobContent> {
  const digest = createHash("sha256");
  let bytes = 0;
  let upload: BlobUpload | undefined;
  let part = Buffer.allocUnsafe(partBytes);
  let filled = 0;
  try {
    for await (const chunk of chunks) {
      digest.update(chunk);
      bytes += chunk.length;
      for (let at = 0; at < chunk.length; ) {
        const taken = Math.min(chunk.length - at, partBytes - filled);
        part.set(chunk.subarray(at, at + taken), filled);
        at += taken;
        filled += taken;
        if (filled < partBytes) continue;
        upload ??= await store.beginUpload(key);
        await upload.addPart(part);
        // The one before is still on its way.
        part = Buffer.allocUnsafe(partBytes);
        filled = 0;
      }
    }
    const rest = part.subarray(0, filled);
    if (upload === undefined) await store.put(key, rest);
    else {
      if (rest.length > 0) await upload.addPart(rest);
      await upload.complete();
    }
    return { sha256: digest.digest("hex"), bytes };
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

/** How a blob differs from what was stored. */
export type FetchOutcome = "fetched" | "missing" | "damaged";

/** Brings a blob into a new file, which is there only when it is what was stored, byte for byte. */
export async function fetchToFile(
  store: BlobStore,
  key: string,
  wanted: BlobContent & { file: string; signal: AbortSignal },
): Promise<FetchOutcome> {
  const { file, signal } = wanted;
  const body = await store.get(key, { signal });
  if (body === null) return "missing";
  const digest = createHash("sha256");
  let bytes = 0;
  try {
    await pipeline(
      body.stream,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          // More than was stored is never written down.
          if (bytes > wanted.bytes) return;
          digest.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(file, { mode: 0o600, flags: "wx" }),
      { signal },
    );
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
  if (bytes === wanted.bytes && digest.digest("hex") === wanted.sha256) return "fetched";
  await rm(file, { force: true });
  return "damaged";
}

const pageSize = 1_000;

/** Every blob whose key has this prefix; returns how many there were. */
export async function removeAll(store: BlobStore, prefix: string, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  for (;;) {
    const page = await store.list(prefix, { limit: pageSize });
    for (const { key } of page) {
      signal?.throwIfAborted();
      await store.remove(key);
    }
    removed += page.length;
    if (page.length < pageSize) return removed;
  }
}
