import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import { type LogLine, parseServerLine, redact } from "../logs/log.ts";
import { insertLogs } from "../logs/log-store.ts";
import type { Instance } from "./instance.ts";
import { saveLogOffset } from "./instance-store.ts";
import { type LogFile, openLogFile } from "./log-file.ts";
import { LogSplitter, maxLineBytes, type SplitLine } from "./log-splitter.ts";

/** Lines that come one by one are stored together. */
const gatherMs = 100;
/** For a change the kernel did not notify of: its queue may overflow. */
const lookMs = 30_000;
const chunkBytes = 512 * 1024;
const maxFileBytes = 16 * 1024 * 1024;
const maxBacklogBytes = 256 * 1024 * 1024;

export type LogTail = { stop(): Promise<void> };

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
export function followLog(options: LogTailOptions): LogTail {
  const { database, instance } = options;
  const limits = { maxFileBytes, maxBacklogBytes, ...options };
  const place = {
    deploymentId: instance.deployment_id,
    revisionId: instance.revision_id,
    kind: "deploy" as const,
  };
  const stopping = new AbortController();
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let splitter = new LogSplitter();
  /** Everything before it is stored; the splitter holds what was read behind it. */
  let offset = instance.log_offset;
  let releasedTo = offset;

  async function readOnce(file: LogFile): Promise<"more" | "some" | "none"> {
    const from = offset + splitter.open;
    const { bytesRead, size } = await file.read(buffer, from);
    if (size < from) {
      // Its own server cut it.
      splitter = new LogSplitter();
      offset = 0;
      releasedTo = 0;
      return size === 0 ? "none" : "more";
    }
    if (bytesRead === 0) return "none";
    if (size - from > limits.maxBacklogBytes)
      return leaveOut(file, size - Math.floor(limits.maxBacklogBytes / 2));
    await store(splitter.push(buffer.subarray(0, bytesRead)), from + bytesRead - splitter.open);
    if (offset - releasedTo > limits.maxFileBytes) {
      releasedTo = await file.release(offset);
      if (releasedTo !== offset) {
        offset = releasedTo;
        await saveLogOffset(database.sql, instance.id, offset);
      }
    }
    return bytesRead === chunkBytes ? "more" : "some";
  }

  /** Counted, so that whoever reads the log knows what is not there. */
  async function leaveOut(file: LogFile, until: number): Promise<"more"> {
    let lines = 0;
    const first = offset;
    let end = offset;
    for (let at = offset; at < until; ) {
      const { bytesRead } = await file.read(buffer, at);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, Math.min(bytesRead, until - at));
      for (let mark = chunk.indexOf(10); mark !== -1; mark = chunk.indexOf(10, mark + 1)) {
        lines += 1;
        end = at + mark + 1;
      }
      at += chunk.length;
      // One endless line has no better place to go on.
      if (lines === 0) end = at;
    }
    splitter = new LogSplitter();
    const megabytes = ((end - first) / 1024 / 1024).toFixed(1);
    const text = `${lines} lines (${megabytes} MB) were left out: the server wrote more than could be stored in time.`;
    await write([{ at: options.clock.now(), level: "WARNING", message: text }], end);
    return "more";
  }

  const store = (lines: readonly SplitLine[], end: number) =>
    write(
      lines.flatMap((line) => (line.text === "" ? [] : [asLogLine(line)])),
      end,
    );

  function asLogLine({ text, cut }: SplitLine): LogLine {
    const now = options.clock.now();
    const line = parseServerLine(redact(text, options.secrets), now);
    return cut
      ? { ...line, message: `${line.message} [cut: the line is longer than ${maxLineBytes} bytes]` }
      : line;
  }

  async function write(lines: LogLine[], end: number): Promise<void> {
    await database.transaction(async (tx) => {
      await insertLogs(tx, place, lines);
      await saveLogOffset(tx, instance.id, end);
    });
    offset = end;
  }

  async function run(): Promise<void> {
    const file = await openLogFile(instance.log_path);
    const { signal } = stopping;
    try {
      while (!signal.aborted) {
        const found = await readOnce(file).catch((error: unknown) => {
          options.logger.warn(
            { err: error, instance: instance.id },
            "a server's log could not be read, trying again",
          );
          // What was read is read again from the last place that is stored.
          splitter = new LogSplitter();
          return "failed" as const;
        });
        if (found === "more") continue;
        if (found === "none") await file.changed(lookMs, signal);
        else await delay(found === "failed" ? 1_000 : gatherMs, undefined, { signal }).catch(() => undefined);
      }
      // Until nothing is left.
      while ((await readOnce(file)) !== "none");
      const rest = splitter.open;
      await store(splitter.flush(), offset + rest);
    } finally {
      await file.close();
    }
  }
  const running = run().catch((error: unknown) => {
    options.logger.warn(
      { err: error, instance: instance.id },
      "the end of a server's log could not be stored",
    );
  });
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
