import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { leaseOver } from "../desired-state/reconcile-fence.ts";
import { type LogLine, type LogPlace, parseServerLine, redact } from "../logs/log.ts";
import { insertLogs } from "../logs/log-store.ts";
import type { Instance } from "./instance.ts";
import { readInstance, saveLogOffset } from "./instance-store.ts";
import { LogFile } from "./log-file.ts";
import { LogSplitter, maxLineBytes, type SplitLine } from "./log-splitter.ts";

/** Lines that come one by one are stored together. */
const gatherMs = 100;
/** For a change the kernel did not notify of: its queue may overflow. */
const lookMs = 30_000;
const chunkBytes = 512 * 1024;
const maxFileBytes = 16 * 1024 * 1024;
const maxBacklogBytes = 256 * 1024 * 1024;

export type LogTailOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  instance: Instance;
  secrets: readonly string[];
  /** What was read is given back to the disk in pieces of this size. */
  maxFileBytes?: number;
  /** What may wait to be stored. Beyond it lines are counted and left out. */
  maxBacklogBytes?: number;
};

/**
 * Follows a server's log file into the database. The place in the file is stored with the lines, so that after a
 * crash no line is lost or doubled.
 */
export class LogTail {
  readonly #options: LogTailOptions;
  readonly #limits: { maxFileBytes: number; maxBacklogBytes: number };
  readonly #place: LogPlace;
  readonly #buffer = Buffer.allocUnsafe(chunkBytes);
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #splitter = new LogSplitter();
  /** Everything before it is stored; the splitter holds what was read behind it. */
  #offset: number;
  /** As it is in the row, unless a write was not confirmed or somebody else follows the file too. */
  #storedOffset: number;
  #isStoredOffsetKnown = true;
  #releasedTo: number;
  #released = false;

  constructor(options: LogTailOptions) {
    const { instance, logger } = options;
    this.#options = options;
    this.#limits = { maxFileBytes, maxBacklogBytes, ...options };
    this.#place = {
      deploymentId: instance.deployment_id,
      revisionId: instance.revision_id,
      kind: "deploy",
    };
    this.#offset = instance.log_offset;
    this.#storedOffset = instance.log_offset;
    this.#releasedTo = instance.log_offset;
    this.#running = this.#run().catch((error: unknown) => {
      logger.warn({ err: error, instance: instance.id }, "the end of a server's log could not be stored");
    });
  }

  /** Leaves the rest to the process that follows the file next. */
  async release(): Promise<void> {
    this.#released = true;
    await this.stop();
  }

  /** Stores what is left; resolves when nothing is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const file = await LogFile.open(this.#options.instance.log_path);
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted) {
        const found = await this.#readOnce(file).catch((error: unknown) => this.#readAgain(error));
        if (found === "more") continue;
        if (found === "none") await file.changed(lookMs, signal);
        else await delay(found === "failed" ? 1_000 : gatherMs, undefined, { signal }).catch(() => undefined);
      }
      if (this.#released) return;
      // Until nothing is left.
      while ((await this.#readOnce(file)) !== "none");
      const rest = this.#splitter.open;
      await this.#store(this.#splitter.flush(), this.#offset + rest);
    } finally {
      await file.close();
    }
  }

  /** What was read is read again from the last place that is stored. */
  #readAgain(error: unknown): "failed" {
    const { logger, instance } = this.#options;
    logger.warn({ err: error, instance: instance.id }, "a server's log could not be read, trying again");
    this.#splitter = new LogSplitter();
    this.#isStoredOffsetKnown = false;
    return "failed";
  }

  async #readOnce(file: LogFile): Promise<"more" | "some" | "none"> {
    if (!this.#isStoredOffsetKnown) await this.#findPlace();
    const from = this.#offset + this.#splitter.open;
    const { bytesRead, size } = await file.read(this.#buffer, from);
    if (size < from) {
      // Its own server cut it.
      this.#splitter = new LogSplitter();
      this.#offset = 0;
      this.#releasedTo = 0;
      return size === 0 ? "none" : "more";
    }
    if (bytesRead === 0) return "none";
    const { maxBacklogBytes: backlog } = this.#limits;
    if (size - from > backlog) return this.#leaveOut(file, size - Math.floor(backlog / 2));
    const lines = this.#splitter.push(this.#buffer.subarray(0, bytesRead));
    await this.#store(lines, from + bytesRead - this.#splitter.open);
    await this.#giveBack(file);
    return bytesRead === chunkBytes ? "more" : "some";
  }

  async #findPlace(): Promise<void> {
    const { database, instance } = this.#options;
    const offset = (await readInstance(database.sql, instance.id))?.log_offset ?? this.#storedOffset;
    this.#offset = offset;
    this.#storedOffset = offset;
    this.#isStoredOffsetKnown = true;
  }

  /** What was read goes back to the disk, in large pieces. */
  async #giveBack(file: LogFile): Promise<void> {
    if (this.#offset - this.#releasedTo <= this.#limits.maxFileBytes) return;
    this.#releasedTo = await file.release(this.#offset);
    if (this.#releasedTo === this.#offset) return;
    this.#offset = this.#releasedTo;
    await this.#saveOffset(this.#options.database.sql, this.#offset);
    this.#storedOffset = this.#offset;
  }

  async #saveOffset(sql: Sql, offset: number): Promise<void> {
    const { id } = this.#options.instance;
    if (!(await saveLogOffset(sql, id, { from: this.#storedOffset, to: offset }))) throw leaseOver();
  }

  /** Counted, so that readers of the log know what is missing. */
  async #leaveOut(file: LogFile, until: number): Promise<"more"> {
    let lines = 0;
    const first = this.#offset;
    let end = first;
    for (let at = first; at < until; ) {
      const { bytesRead } = await file.read(this.#buffer, at);
      if (bytesRead === 0) break;
      const chunk = this.#buffer.subarray(0, Math.min(bytesRead, until - at));
      for (let mark = chunk.indexOf(10); mark !== -1; mark = chunk.indexOf(10, mark + 1)) {
        lines += 1;
        end = at + mark + 1;
      }
      at += chunk.length;
      // One endless line has no better place to go on.
      if (lines === 0) end = at;
    }
    this.#splitter = new LogSplitter();
    const megabytes = ((end - first) / 1024 / 1024).toFixed(1);
    const message = `${lines} lines (${megabytes} MB) were left out: the server wrote more than could be stored in time.`;
    await this.#write([{ at: this.#options.clock.now(), level: "WARNING", message }], end);
    return "more";
  }

  #store(lines: readonly SplitLine[], end: number): Promise<void> {
    return this.#write(
      lines.flatMap((line) => (line.text === "" ? [] : [this.#asLogLine(line)])),
      end,
    );
  }

  #asLogLine({ text, cut }: SplitLine): LogLine {
    const { clock, secrets } = this.#options;
    const line = parseServerLine(redact(text, secrets), clock.now());
    return cut
      ? { ...line, message: `${line.message} [cut: the line is longer than ${maxLineBytes} bytes]` }
      : line;
  }

  async #write(lines: LogLine[], end: number): Promise<void> {
    const { database } = this.#options;
    await database.transaction(async (tx) => {
      await insertLogs(tx, this.#place, lines);
      await this.#saveOffset(tx, end);
    });
    this.#offset = end;
    this.#storedOffset = end;
  }
}
