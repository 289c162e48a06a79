import type { LogKind, LogRow } from "../../src/control-plane/logs/log.ts";
import { LogMover, type LogMoverOptions } from "../../src/control-plane/logs/log-mover.ts";
import { LogReader } from "../../src/control-plane/logs/log-reader.ts";
import { insertLogs, type LogQuery } from "../../src/control-plane/logs/log-store.ts";
import type { BlobStore } from "../../src/platform/blob/blob-store.ts";
import { sweepUnclaimed } from "../../src/platform/blob/unclaimed-blobs.ts";
import type { Database, Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";

export const dayMs = 86_400_000;
export const never = new AbortController().signal;
const silent = createLogger({ level: "silent" });
const levels = ["INFO", "DEBUG", "WARNING", "ERROR"] as const;
const words = ["plain", 'a "quote" and \\ and \t', "Grüße ÄÖÜ", "ΟΔΟΣ", "日本 🙂", "x".repeat(300), "{}", ""];

/** Lines that differ in everything one may ask for, as they were stored so many days ago. */
export async function writeLines(
  sql: Sql,
  place: { deploymentId: string; revisionId: string; kind: LogKind },
  { count, daysAgo, from = 0 }: { count: number; daysAgo: number; from?: number },
): Promise<void> {
  const at = Date.now() - daysAgo * dayMs;
  const lines = Array.from({ length: count }, (_, index) => ({
    at: new Date(at + index),
    level: levels[index % levels.length]!,
    message: `line ${from + index} of ${daysAgo}: ${words[index % words.length]}`,
    ...(index % 5 === 0 ? { runId: `run-${index % 3}` } : {}),
    ...(place.kind === "build" ? { origin: "project" as const } : {}),
  }));
  await insertLogs(sql, place, lines);
  await raw`update deployment_logs set stored_at = now() - ${daysAgo}::int * interval '1 day'
    where deployment_id = ${place.deploymentId} and stored_at > now() - interval '1 minute' and ${daysAgo}::int > 0`.execute(
    sql,
  );
}

export function moverOf(database: Database, blobs: BlobStore, more: Partial<LogMoverOptions> = {}): LogMover {
  return new LogMover({
    ...{ database, blobs, logger: silent, clock: { now: () => new Date() } },
    ...{ moves: true, retentionDays: 30, maxLines: 1_000_000, limits: { lines: 40, bytes: 1_000_000 } },
    ...more,
  });
}

export const readerOf = (database: Database, blobs: BlobStore) =>
  new LogReader({ database, blobs, logger: silent });

/** Every page of an answer, to its end. */
export async function readAll(reader: LogReader, query: Omit<LogQuery, "after">): Promise<LogRow[][]> {
  const pages: LogRow[][] = [];
  for (let after: number | undefined; ; after = pages.at(-1)!.at(-1)!.id) {
    const { rows } = await reader.read({ ...query, after });
    if (rows.length === 0) return pages;
    pages.push(rows);
  }
}

/** How many blobs of logs there are when what nobody claimed for a day is removed. */
export async function countSwept(database: Database, blobs: BlobStore): Promise<number> {
  const now = new Date(Date.now() + 2 * dayMs);
  await sweepUnclaimed({ database, blobs, now, named: async () => new Set() }, never);
  return (await blobs.list("logs/", { limit: 1_000 })).length;
}

export async function countRows(sql: Sql): Promise<{ rows: number; segments: number }> {
  const { rows } = await raw<{ rows: number; segments: number }>`
    select (select count(*)::int from deployment_logs) as rows,
      (select count(*)::int from deployment_log_segments) as segments`.execute(sql);
  return rows[0]!;
}
