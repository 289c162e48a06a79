import { closeSync, constants, copyFileSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";

const maxBytes = 10 * 1024 * 1024;
const checkEveryMs = 60_000;

/**
 * The file PostgreSQL writes its messages to. The server holds the descriptor itself, so its last
 * words are kept also when Treadle is gone; the file is bounded by moving its content aside.
 */
export class PostgresLog {
  readonly path: string;
  readonly descriptor: number;
  readonly #timer: NodeJS.Timeout;

  constructor(path: string) {
    this.path = path;
    const { O_APPEND, O_CREAT, O_RDWR } = constants;
    // Appending makes truncation safe: the next line goes to the new end of the file.
    this.descriptor = openSync(path, O_RDWR | O_APPEND | O_CREAT, 0o600);
    this.rotate();
    this.#timer = setInterval(() => this.rotate(), checkEveryMs).unref();
  }

  size(): number {
    return fstatSync(this.descriptor).size;
  }

  /** What was written since `offset`, at most the last 16 KiB. */
  textSince(offset: number): string {
    const size = this.size();
    const from = Math.max(Math.min(offset, size), size - 16_384);
    const buffer = Buffer.alloc(size - from);
    const read = readSync(this.descriptor, buffer, 0, buffer.length, from);
    return buffer.toString("utf8", 0, read);
  }

  rotate(limit = maxBytes): void {
    if (this.size() <= limit) return;
    copyFileSync(this.path, `${this.path}.1`);
    ftruncateSync(this.descriptor, 0);
  }

  close(): void {
    clearInterval(this.#timer);
    closeSync(this.descriptor);
  }
}
