import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { operatorWords } from "../../platform/blob/platform-failure.ts";
import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import type { LogRow } from "./log.ts";
import { type LogSegment, mergeLines, segmentKey } from "./log-segment.ts";
import { readSegment, type SegmentLines } from "./log-segment-reader.ts";
import { hasSegment, listSegments } from "./log-segment-store.ts";
import { type LogQuery, readLogs } from "./log-store.ts";

export type LogPage = {
  rows: LogRow[];
  /** What comes next is in the storage, which is away. */
  isCut: boolean;
};

export type LogReaderOptions = { database: Database; blobs: BlobStore; logger: Logger };

/** One log, of which the last days are in the database and the days before in the storage. */
export class LogReader {
  readonly #options: LogReaderOptions;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  async read(query: LogQuery, signal?: AbortSignal): Promise<LogPage> {
    const { database, logger } = this.#options;
    // Before the segments: a line that moves meanwhile is met twice, not missed.
    let rows = await readLogs(database.sql, query);
    for await (const segment of listSegments(database, query)) {
      if (rows.length === query.limit && isBeyond(segment, rows.at(-1)!, query)) break;
      let found: SegmentLines;
      try {
        found = await readSegment(this.#options.blobs, segment, query, signal);
      } catch (error) {
        if (!isBlobFailure(error)) throw error;
        logger.warn(
          { segment: segmentKey(segment), reason: operatorWords(error) },
          "old log lines could not be read",
        );
        // What lies before the segment is whole. The next page begins with it.
        const before = rows.filter((row) => isBeyond(segment, row, query));
        if (before.length === 0) throw awayFor(error);
        return { rows: before, isCut: true };
      }
      rows = mergeLines([rows, await this.#orGap(segment, found, query)], query);
    }
    return { rows, isCut: false };
  }

  /** A segment that the storage has lost is one line that says so: it must not hide the lines behind it. */
  async #orGap(segment: LogSegment, found: SegmentLines, query: LogQuery): Promise<LogRow[]> {
    if (typeof found !== "string") return found;
    const { database, logger } = this.#options;
    // Removed while it was read, because of its age or with its deployment.
    if (!(await hasSegment(database.sql, segment.id))) return [];
    logger.error({ segment: segmentKey(segment), problem: found }, "old log lines are lost");
    const id = query.order === "asc" ? segment.last_id : segment.first_id;
    const message =
      found === "missing"
        ? `${segment.lines} lines of ${segment.day} are lost: the storage no longer has them.`
        : `${segment.lines} lines of ${segment.day} are lost: what the storage has in their place is damaged.`;
    if (query.after !== undefined && (query.order === "asc" ? id <= query.after : id >= query.after))
      return [];
    const revision = query.revisionId ?? segment.revision_ids[0]!;
    const at = query.order === "asc" ? segment.last_at : segment.first_at;
    const about = { run_id: null, origin: "platform", level: "WARNING" } as const;
    return [{ id, revision_id: revision, kind: segment.kind, at, message, ...about }];
  }
}

/** Whether every line of the segment comes after this one. */
function isBeyond(segment: LogSegment, row: LogRow, { order }: LogQuery): boolean {
  return order === "asc" ? segment.first_id > row.id : segment.last_id < row.id;
}

function awayFor(cause: AppError): AppError {
  return new AppError({
    code: "log.storage_away",
    kind: "unavailable",
    message:
      "These lines are older than a day and in the platform's storage, which cannot be reached at the moment. Newer lines can be read: ask with order=desc, or with a start_time of today. Try again later; the operator finds the reason in the server's log.",
    headers: { "retry-after": "5" },
    cause,
  });
}
