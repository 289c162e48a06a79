import { execFile } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import { type FileHandle, mkdir, open, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A file another process appends to. The kernel notifies of each change; it is not polled. */
export class LogFile {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #watcher: FSWatcher;
  #seen = false;
  #wake = () => {};
  #canPunch = true;

  static async open(path: string): Promise<LogFile> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const made = await open(path, "a", 0o600);
    await made.close();
    return new LogFile(path, await open(path, "r"));
  }

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
    this.#watcher = watch(path, { persistent: false }, () => {
      this.#seen = true;
      this.#wake();
    });
    // What can be missed without it is looked for at long intervals.
    this.#watcher.on("error", () => this.#watcher.close());
  }

  /** How much was read into the buffer, and how long the file is now. */
  async read(buffer: Buffer, offset: number): Promise<{ bytesRead: number; size: number }> {
    this.#seen = false;
    const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, offset);
    return { bytesRead, size: (await this.#file.stat()).size };
  }

  /** Resolves at the next change after the last call, or after `atMostMs`. */
  async changed(atMostMs: number, signal: AbortSignal): Promise<void> {
    if (this.#seen || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, atMostMs).unref();
    const wake = () => {
      clearTimeout(timer);
      resolve();
    };
    this.#wake = wake;
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    signal.removeEventListener("abort", wake);
  }

  /** Gives what was read back to the disk. The answer is where the file is read next: 0 where it had to be cut. */
  async release(offset: number): Promise<number> {
    // A hole where the read part was: the writer appends behind it undisturbed, and no line is ever lost.
    if (this.#canPunch) {
      const args = ["--punch-hole", "--offset", "0", "--length", String(offset), this.#path];
      this.#canPunch = await run("fallocate", args).then(
        () => true,
        () => false,
      );
    }
    if (this.#canPunch) return offset;
    // A file system without holes: cut at a moment when everything is read.
    if ((await this.#file.stat()).size !== offset) return offset;
    await truncate(this.#path);
    return 0;
  }

  async close(): Promise<void> {
    this.#watcher.close();
    await this.#file.close();
  }
}
