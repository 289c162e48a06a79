import { createTarPacker } from "modern-tar";
import { formatBytes } from "../../../ui/format.ts";
import { isArchiveName } from "./read-folder.ts";

export type PackedFile = { path: string; content: Blob };

/** What the server takes of an archive. */
export const mostPackedBytes = 200 * 1024 * 1024;
/** What a page reads at most; it holds the archive while it uploads it. */
export const mostFileBytes = 1024 * 1024 * 1024;
export const mostFiles = 20_000;

/** Why these files are too much for an upload, or null. */
export function sizeProblem(count: number, bytes: number): string | null {
  const advice = "Leave out files that are not needed with .gitignore or .dockerignore, or deploy from git.";
  if (count > mostFiles)
    return `The folder has ${count} files to upload; at most ${mostFiles} can be. ${advice}`;
  if (bytes > mostFileBytes) {
    return `The files are ${formatBytes(bytes)} in total; at most ${formatBytes(mostFileBytes)} can be read here. ${advice}`;
  }
  return null;
}

/** Why an archive made elsewhere cannot be uploaded, or null. */
export function archiveProblem(name: string, bytes: number): string | null {
  if (!isArchiveName(name))
    return `${name} is not a .tar.gz. Pack the project with tar, or choose its folder.`;
  if (bytes === 0) return `${name} is empty. Pack the project again, or choose its folder.`;
  if (bytes <= mostPackedBytes) return null;
  return `${name} is ${formatBytes(bytes)}; at most ${formatBytes(mostPackedBytes)} can be uploaded. Leave out what is not needed, such as node_modules, or deploy from git.`;
}

/** A .tar.gz of the files. The same files make the same bytes, so that the server need not build them twice. */
export async function packFiles(
  files: readonly PackedFile[],
  onFile?: (done: number) => void,
): Promise<Blob> {
  const { readable, controller } = createTarPacker();
  const packed = new Response(readable.pipeThrough(new CompressionStream("gzip"))).blob();
  // It fails together with what is awaited below.
  packed.catch(() => undefined);
  try {
    let done = 0;
    for (const { path, content } of files) {
      const header = {
        name: path,
        size: content.size,
        type: "file" as const,
        mode: 0o644,
        mtime: new Date(0),
      };
      await content.stream().pipeTo(controller.add(header));
      done += 1;
      onFile?.(done);
    }
    controller.finalize();
  } catch (error) {
    controller.error(error);
    throw new Error(
      "A file could not be read. It may have changed since the folder was chosen: choose it again.",
      {
        cause: error,
      },
    );
  }
  const archive = await packed;
  if (archive.size <= mostPackedBytes) return archive;
  throw new Error(
    `The folder packs to ${formatBytes(archive.size)}; at most ${formatBytes(mostPackedBytes)} can be uploaded. Leave out what is not needed with .dockerignore, or deploy from git.`,
  );
}
