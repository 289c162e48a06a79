import { isSkippedFolder } from "./project-files.ts";

/** A file of the chosen folder, by its path in it. */
export type FolderFile = { path: string; file: File };
export type ReadFolder = { name: string; files: FolderFile[]; skipped: string[] };

/** More than any project has; a home folder dropped by mistake ends here. */
const mostSeen = 100_000;

/** What the server unpacks. */
export const isArchiveName = (name: string) => /\.(tar\.gz|tgz)$/i.test(name);

/** What an `<input webkitdirectory>` got. */
export function readChosen(list: readonly File[]): ReadFolder {
  const skipped = new Set<string>();
  const files: FolderFile[] = [];
  for (const file of list) {
    const [, ...parts] = file.webkitRelativePath.split("/");
    const out = parts.slice(0, -1).find(isSkippedFolder);
    if (out === undefined) files.push({ path: parts.join("/"), file });
    else skipped.add(out);
  }
  if (files.length > mostSeen) throw tooMany();
  return { name: list[0]?.webkitRelativePath.split("/")[0] ?? "", files, skipped: [...skipped] };
}

/**
 * What was dropped: exactly one folder. The entries must be asked for while the event is handled, so this is called
 * before anything is awaited.
 */
export function readDropped(items: DataTransferItemList): Promise<ReadFolder> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const [folder] = entries;
  if (entries.length !== 1 || !folder?.isDirectory) {
    return Promise.reject(new Error("Drop one folder: the one with langgraph.json in it."));
  }
  return readEntry(folder as FileSystemDirectoryEntry);
}

async function readEntry(top: FileSystemDirectoryEntry): Promise<ReadFolder> {
  const skipped = new Set<string>();
  const files: FolderFile[] = [];
  const visit = async (folder: FileSystemDirectoryEntry, above: string): Promise<void> => {
    for (const entry of await entriesOf(folder)) {
      const path = `${above}${entry.name}`;
      if (entry.isDirectory) {
        if (isSkippedFolder(entry.name)) skipped.add(entry.name);
        else await visit(entry as FileSystemDirectoryEntry, `${path}/`);
      } else files.push({ path, file: await fileOf(entry as FileSystemFileEntry) });
      if (files.length > mostSeen) throw tooMany();
    }
  };
  await visit(top, "");
  return { name: top.name, files, skipped: [...skipped] };
}

/** A reader hands out a hundred at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    found.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

function tooMany(): Error {
  return new Error(
    `The folder has more than ${mostSeen} files. Choose the project's own folder: the one with langgraph.json in it.`,
  );
}
