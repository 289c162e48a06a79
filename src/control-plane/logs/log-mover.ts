import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { operatorWords } from "../../platform/blob/platform-failure.ts";
import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import { announceBlob, claimBlob, giveUpBlobs, removeGivenUp } from "../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { dayOf, daysBefore, type LogSegment, packLine, segmentKey, segmentLimits } from "./log-segment.ts";
import * as store from "./log-segment-store.ts";

const pack = promisify(gzip);
const pageLines = 200;
const logsAtOnce = 100;
/** Of one run; the next run continues. */
const mostSegments = 1_000;
const removedAtOnce = 500;

export type LogMoverOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  blobs: BlobStore;
  /** Whether the servers that read the lines have the same storage. */
  moves: boolean;
  /** How long lines are kept, and how many of each log. */
  retentionDays: number;
  maxLines: number;
  /** Of one segment. */
  limits?: { lines: number; bytes: number };
};

/** Throws unless the job is still ours. */
type Fence = (tx: Sql) => Promise<void>;

/**
 * Moves the lines of whole days into the storage: a day after they were stored at the earliest, two days at the latest.
 * The blob comes first. Then one transaction makes the row of the segment and removes its lines, so every line is in
 * one place at any moment, whenever a process dies.
 */
export class LogMover {
  readonly #options: LogMoverOptions;

  constructor(options: LogMoverOptions) {
    this.#options = options;
  }

  /** Returns how many segments it made. What needs the storage waits while it is away. */
  async run(fence: Fence, signal: AbortSignal): Promise<number> {
    const { logger } = this.#options;
    let made = 0;
    try {
      await this.#removeOld(signal);
      if (!this.#options.moves) return 0;
      for (let log: store.LogOf | null = null; ; ) {
        const logs = await this.#logsAfter(log);
        for (log of logs) {
          for (; made < mostSegments; made += 1) {
            signal.throwIfAborted();
            if (!(await this.#move(log, fence))) break;
          }
        }
        if (logs.length < logsAtOnce || made >= mostSegments) return made;
      }
    } catch (error) {
      if (!isBlobFailure(error)) throw error;
      logger.warn(
        { reason: operatorWords(error) },
        "old log lines stay in the database until the storage is back",
      );
      return made;
    }
  }

  #logsAfter(after: store.LogOf | null): Promise<store.LogOf[]> {
    const { database } = this.#options;
    return store.listLogsToMove(database.sql, { before: this.#moveBefore(), after, limit: logsAtOnce });
  }

  #moveBefore(): Date {
    return daysBefore(this.#options.clock.now(), 1);
  }

  /** The next segment of a log; false when there is none to make. */
  async #move(log: store.LogOf, fence: Fence): Promise<boolean> {
    const { database, blobs } = this.#options;
    const draft = await this.#gather(log);
    if (draft === null) return false;
    const body = await pack(draft.text);
    const segment: LogSegment = { ...draft.segment, bytes: body.length };
    const key = segmentKey(segment);
    await announceBlob(database.sql, key);
    await blobs.put(key, body);
    try {
      await database.transaction(async (tx) => {
        await fence(tx);
        const isWhole = (await store.deleteMoved(tx, segment)) === segment.lines;
        if (!isWhole || !(await claimBlob(tx, key)) || !(await store.insertSegment(tx, segment)))
          throw new Overtaken();
      });
    } catch (error) {
      // After another failure it is not known whether a row names it; if none does, it is swept with what nobody claimed.
      if (!(error instanceof Overtaken)) throw error;
      await giveUpBlobs(database.sql, [key]);
      await removeGivenUp({ database, blobs }, [key]);
      return false;
    }
    return true;
  }

  /** The oldest lines of one day, up to the limits of a segment. */
  async #gather(log: store.LogOf): Promise<{ segment: LogSegment; text: string } | null> {
    const { sql } = this.#options.database;
    const before = this.#moveBefore();
    const draft = new Draft(log, this.#options.limits ?? segmentLimits);
    let after = await store.readNewestMoved(sql, log);
    for (;;) {
      const rows = await store.readLinesToMove(sql, log, { after, limit: pageLines });
      for (const row of rows) {
        if (row.stored_at >= before || !draft.take(row)) return draft.finish();
      }
      if (rows.length < pageLines) return draft.finish();
      after = rows.at(-1)!.id;
    }
  }

  /** Rows first, then their blobs. */
  async #removeOld(signal: AbortSignal): Promise<void> {
    const { database, clock, blobs, retentionDays, maxLines } = this.#options;
    const before = daysBefore(clock.now(), retentionDays);
    for (;;) {
      const keys = await database.transaction(async (tx) => {
        const removed = await store.deleteOldSegments(tx, { before, maxLines, limit: removedAtOnce });
        await giveUpBlobs(tx, removed.map(segmentKey));
        return removed.map(segmentKey);
      });
      await removeGivenUp({ database, blobs }, keys, signal);
      if (keys.length < removedAtOnce) return;
    }
  }
}

/** Another process has moved or removed lines of this segment, or its deployment is deleted. */
class Overtaken extends Error {}

class Draft {
  readonly #log: store.LogOf;
  readonly #limits: { lines: number; bytes: number };
  readonly #texts: string[] = [];
  readonly #revisions = new Set<string>();
  readonly #levels = new Set<string>();
  #bytes = 0;
  #day = "";
  #ids = { first: 0, last: 0 };
  #times = { first: new Date(8.64e15), last: new Date(-8.64e15) };

  constructor(log: store.LogOf, limits: { lines: number; bytes: number }) {
    this.#log = log;
    this.#limits = limits;
  }

  /** False for a line that belongs to the next segment. */
  take(row: store.StoredRow): boolean {
    const day = dayOf(row.stored_at);
    const text = packLine(row);
    if (this.#texts.length === 0) {
      this.#day = day;
      this.#ids.first = row.id;
    } else if (
      day > this.#day ||
      this.#texts.length >= this.#limits.lines ||
      this.#bytes + text.length > this.#limits.bytes
    )
      return false;
    this.#texts.push(text);
    this.#bytes += Buffer.byteLength(text);
    this.#ids.last = row.id;
    this.#revisions.add(row.revision_id);
    this.#levels.add(row.level);
    if (row.at < this.#times.first) this.#times.first = row.at;
    if (row.at > this.#times.last) this.#times.last = row.at;
    return true;
  }

  finish(): { segment: LogSegment; text: string } | null {
    if (this.#texts.length === 0) return null;
    const segment = {
      ...{ id: newId(), deployment_id: this.#log.deploymentId, kind: this.#log.kind, day: this.#day },
      ...{ first_id: this.#ids.first, last_id: this.#ids.last },
      ...{ first_at: this.#times.first, last_at: this.#times.last },
      ...{ lines: this.#texts.length, bytes: 0 },
      ...{ revision_ids: [...this.#revisions], levels: [...this.#levels] },
    };
    return { segment, text: this.#texts.join("") };
  }
}
