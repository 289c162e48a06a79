import { execFile } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import { type FileHandle, mkdir, open, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A file another process appends to. The kernel notifies of each change; it is not polled. */
export type LogFile = {
  /** How much was read into the buffer, and how long the file is now. */
  read(buffer: Buffer, offset: number): Promise<{ bytesRead: number; size: number }>;
  /** Resolves at the next change after the last call, or after `atMostMs`. */
  changed(atMostMs: number, signal: AbortSignal): Promise<void>;
  /** Gives what was read back to the disk. `offset` is where the file is read next: 0 where it had to be cut. */
  release(offset: number): Promise<number>;
  close(): Promise<void>;
};

export async function openLogFile(path: string): Promise<LogFile> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const made = await open(path, "a", 0o600);
  await made.close();
  const file: FileHandle = await open(path, "r");
  let seen = false;
  let wake = () => {};
  const watcher: FSWatcher = watch(path, { persistent: false }, () => {
    seen = true;
    wake();
  });
  // What can be missed without it is looked for at long intervals.
  watcher.on("error", () => watcher.close());
  let canPunch = true;

  return {
    async read(buffer, offset) {
      seen = false;
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      return { bytesRead, size: (await file.stat()).size };
    },
    async changed(atMostMs, signal) {
      if (seen || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, atMostMs).unref();
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener("abort", wake, { once: true });
      });
      signal.removeEventListener("abort", wake);
    },
    async release(offset) {
      // A hole where the read part was: the writer appends behind it undisturbed, and no line is ever lost.
      if (canPunch) {
        const args = ["--punch-hole", "--offset", "0", "--length", String(offset), path];
        canPunch = await run("fallocate", args).then(
          () => true,
          () => false,
        );
      }
      if (canPunch) return offset;
      // A file system without holes: cut at a moment when everything is read.
      if ((await file.stat()).size !== offset) return offset;
      await truncate(path);
      return 0;
    },
    async close() {
      watcher.close();
      await file.close();
    },
  };
}
