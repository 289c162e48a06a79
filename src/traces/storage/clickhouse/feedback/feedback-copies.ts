import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { Batcher } from "../../../../platform/db/batch/batcher.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { Values } from "../filter/condition.ts";
import { readClock, readFeedbackToCopy } from "./feedback-copy-store.ts";

/** Which feedback, as far as its copy must be found. */
export type FeedbackKey = { workspace_id: string; run_id: string; id: string };

const repairedAtOnce = 5_000;

/**
 * The copy of feedback. What is about to change is marked first, and marks stay for a while: whatever happened to a writer,
 * its feedback is copied again once it can write no more.
 */
export class FeedbackCopies {
  readonly #clickHouse: ClickHouse;
  readonly #database: Database;
  readonly #repairAfterMs: number;
  // Small inserts of many callers together: ClickHouse pays for each of them.
  readonly #marks: Batcher<FeedbackKey, void>;
  readonly #rows: Batcher<object, void>;

  constructor(options: { clickHouse: ClickHouse; database: Database; repairAfterMs: number }) {
    this.#clickHouse = options.clickHouse;
    this.#database = options.database;
    this.#repairAfterMs = options.repairAfterMs;
    this.#marks = batcher(options.clickHouse, "trace_feedback_marks");
    this.#rows = batcher(options.clickHouse, "trace_feedback");
  }

  async mark(keys: readonly FeedbackKey[]): Promise<void> {
    await this.#marks.addMany(keys.map(({ workspace_id, run_id, id }) => ({ workspace_id, run_id, id })));
  }

  /** Makes the copy what the rows are by now. */
  async copy(keys: readonly FeedbackKey[]): Promise<void> {
    if (keys.length === 0) return;
    const ids = [...new Set(keys.map(({ id }) => id))];
    const rows = await readFeedbackToCopy(this.#database.sql, ids);
    const present = new Set(rows.map(({ id }) => id));
    const lost = await this.#copied(keys.filter(({ id }) => !present.has(id)));
    const copied_at = lost.length === 0 ? "" : await readClock(this.#database.sql);
    await this.#rows.addMany([
      ...rows.map((row) => ({ ...row, is_removed: false })),
      ...lost.map((key) => ({ ...key, copied_at, is_removed: true })),
    ]);
  }

  /** Copies again what was marked long enough ago for its writer to have ended. */
  async repair(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const marks = await this.#clickHouse.rows<FeedbackKey & { at: string }>(
        `select workspace_id, run_id, id, toString(marked_at) as at from trace_feedback_marks
          where marked_at <= now64(6, 'UTC') - toIntervalMillisecond({age: UInt32})
          order by marked_at limit ${repairedAtOnce} with ties`,
        { params: { age: this.#repairAfterMs } },
      );
      const last = marks.at(-1);
      if (!last) return;
      await this.copy(marks.map(({ at: _, ...key }) => key));
      await this.#clickHouse.run(
        "delete from trace_feedback_marks where marked_at <= toDateTime64({last: String}, 6, 'UTC')",
        { params: { last: last.at } },
      );
      isMore = marks.length >= repairedAtOnce;
    }
  }

  /** Those that have a copy. */
  async #copied(keys: readonly FeedbackKey[]): Promise<FeedbackKey[]> {
    if (keys.length === 0) return [];
    const values = new Values();
    const list = (name: keyof FeedbackKey) =>
      values.bind([...new Set(keys.map((key) => key[name]))], "Array(UUID)");
    return await this.#clickHouse.rows<FeedbackKey>(
      `select workspace_id, run_id, id from trace_feedback final where workspace_id in ${list("workspace_id")}
        and run_id in ${list("run_id")} and id in ${list("id")} and not is_removed`,
      { params: values.params },
    );
  }
}

function batcher<Row extends object>(clickHouse: ClickHouse, table: string): Batcher<Row, void> {
  return new Batcher<Row, void>({
    name: table,
    lanes: 1,
    flush: async (rows) => {
      await clickHouse.insert(table, rows);
      return rows.map(() => undefined);
    },
  });
}
