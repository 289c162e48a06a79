import { mkdir } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { create, extract } from "tar";
import { requirePlainNames } from "./project-files.ts";
import { type ArchiveEntry, UnpackGuard, UnsafeArchive } from "./unpack-guard.ts";

/**
 * A built tree as one stream, links as they are: a Python environment has one that leads to its interpreter. Nothing lies
 * below a link, because nothing does in a folder. The format of archives takes what follows a line break in a name for a
 * field of its own, so a tree with such a name is refused.
 */
export async function* packTree(folder: string): AsyncGenerator<Buffer> {
  await requirePlainNames(folder);
  const packed = create({ cwd: folder, preservePaths: true }, ["."]);
  const zstd = createZstdCompress();
  const source = Readable.from(packed as AsyncIterable<Buffer>, { objectMode: false });
  source.once("error", (error) => zstd.destroy(error));
  zstd.once("close", () => source.destroy());
  yield* source.pipe(zstd);
}

/** Of an archive that strangers made. */
export type UnpackLimits = { maxBytes: number; maxEntries: number };

/** What was packed by `packTree`. Nothing is written outside the folder; an archive that tries it fails. */
export async function unpackTree(
  packed: Readable,
  folder: string,
  { signal, limits }: { signal?: AbortSignal; limits?: UnpackLimits } = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const guard = new UnpackGuard(limits?.maxEntries);
  const unpacked = extract({
    cwd: folder,
    preservePaths: true,
    chmod: true,
    preserveOwner: false,
    strict: true,
    // The folder itself may belong to somebody else, as that of a pod does.
    filter: (path, entry) => path !== "./" && path !== "." && guard.permits(entry as ArchiveEntry),
  });
  await pipeline(
    packed,
    createZstdDecompress(),
    limiter(guard, limits?.maxBytes),
    unpacked as unknown as NodeJS.WritableStream,
    signal ? { signal } : {},
  );
  guard.check();
}

/** Ends with an error as soon as there is more than may be written. */
function limiter(guard: UnpackGuard, maxBytes = Number.POSITIVE_INFINITY): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      try {
        if (bytes > maxBytes)
          throw new UnsafeArchive(
            `The archive unpacks to more than ${Math.round(maxBytes / 1024 / 1024)} MB.`,
          );
        guard.checkCount();
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}
