import { createReadStream } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { extract, Parser, type ReadEntry } from "tar";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { ArchiveGuard, type ArchiveLimits } from "./archive-guard.ts";

export type TarballLimits = ArchiveLimits & { signal: AbortSignal };

const chunkBytes = 64 * 1024;
/** Long names need little; more is an attempt to fill the memory. */
const maxMetaBytes = 64 * 1024;

/** Looks at every entry before anything is written, stops at the first limit, then unpacks. */
export async function unpackTarball(file: string, folder: string, limits: TarballLimits): Promise<void> {
  const root = resolve(folder);
  const problem = await inspect(file, root, limits);
  if (problem !== null) throw refused(problem);
  await mkdir(root, { recursive: true });
  await extract({ file, cwd: root, strict: true, preserveOwner: false, noChmod: false });
}

/** Why the archive must not be unpacked, or null. Nothing of it is kept: it may be as large as it likes. */
async function inspect(file: string, root: string, limits: TarballLimits): Promise<string | null> {
  const guard = new ArchiveGuard(root, limits);
  const parser = new Parser({ strict: true, maxMetaEntrySize: maxMetaBytes });
  let failure: unknown;
  parser.on("error", (error: unknown) => {
    failure ??= error;
  });
  const look = (entry: ReadEntry) => {
    guard.add({ path: entry.path, type: entry.type, size: entry.size, linkpath: entry.linkpath });
    entry.resume();
  };
  parser.on("entry", look);
  // Of a kind the library does not know, or a description of another entry that is far too long.
  parser.on("ignoredEntry", look);
  const packed = createReadStream(file, { highWaterMark: chunkBytes });
  const unpacked: Readable = (await isGzip(file))
    ? packed.pipe(createGunzip({ chunkSize: chunkBytes }))
    : packed;
  packed.once("error", (error) => unpacked.destroy(error));
  let bytes = 0;
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      limits.signal.throwIfAborted();
      bytes += chunk.length;
      guard.read(packed.bytesRead, bytes);
      parser.write(chunk);
      if (failure !== undefined || guard.isOver()) break;
    }
    if (failure === undefined && !guard.isOver()) parser.end();
  } catch (error) {
    limits.signal.throwIfAborted();
    failure = error;
  } finally {
    unpacked.destroy();
    packed.destroy();
  }
  const verdict = guard.verdict();
  if (failure !== undefined && (verdict === null || !guard.isOver())) {
    throw refused(`The uploaded archive is not a readable .tar.gz: ${errorMessage(failure)}`, failure);
  }
  return verdict;
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file, "r");
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

function refused(message: string, cause?: unknown): AppError {
  return new AppError({ code: "build.archive_refused", kind: "invalid", message, cause });
}
