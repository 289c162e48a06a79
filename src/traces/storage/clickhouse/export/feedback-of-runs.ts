import { openDatabase } from "../../../../platform/db/connection/open-database.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { createLogger } from "../../../../platform/logger.ts";
import { type FeedbackField, feedbacksSql } from "../../exported-fields.ts";
import { findFeedbackStats } from "../reading/feedback-stats-store.ts";

/** Of a run without any. */
const none: Record<FeedbackField, string | null> = { feedback_stats: null, feedbacks: "[]" };

const sampled = 10_000;

/** What was said of runs, for exports: it is in PostgreSQL. */
export class FeedbackOfRuns {
  readonly #database: Database;
  readonly #workspaceId: string;
  readonly #fields: readonly FeedbackField[];
  /** Most workspaces have none at all. */
  #hasAny: boolean | undefined;

  constructor(database: Database, workspaceId: string, fields: readonly FeedbackField[]) {
    this.#database = database;
    this.#workspaceId = workspaceId;
    this.#fields = fields;
  }

  /** With a connection of its own, for a thread. */
  static open(url: string, workspaceId: string, fields: readonly FeedbackField[]): FeedbackOfRuns {
    const database = openDatabase({ url, poolSize: 1, logger: createLogger({ level: "silent" }) });
    return new FeedbackOfRuns(database, workspaceId, fields);
  }

  /** The fields of runs about which something was said, by id; those of all others are `ofOthers`. */
  async find(ids: readonly string[]): Promise<Map<string, (string | null)[]>> {
    if (!(await this.hasAny())) return new Map();
    const { sql } = this.#database;
    const found = await Promise.all(
      this.#fields.map((field) =>
        field === "feedbacks"
          ? findFeedbacks(sql, this.#workspaceId, ids)
          : findFeedbackStats(sql, this.#workspaceId, ids),
      ),
    );
    const known = new Set(found.flatMap((each) => [...each.keys()]));
    return new Map(
      [...known].map((id) => [id, this.#fields.map((field, at) => found[at]!.get(id) ?? none[field])]),
    );
  }

  /** Whether there may be any for these fields. */
  async hasAny(): Promise<boolean> {
    this.#hasAny ??= this.#fields.length > 0 && (await this.#findAny());
    return this.#hasAny;
  }

  /** About how much is said of a run of which anything is. */
  async bytesPerRun(): Promise<number> {
    const { rows } = await raw<{
      bytes: number;
    }>`select coalesce(sum(200 + octet_length(coalesce(value::text, ''))
        + octet_length(coalesce(comment, ''))) / count(distinct run_id), 0)::float8 as bytes
      from (select run_id, value, comment from trace_feedback
        where workspace_id = ${this.#workspaceId} and run_id is not null limit ${sampled}) f`.execute(
      this.#database.sql,
    );
    return Math.max(200, rows[0]?.bytes ?? 0);
  }

  get ofOthers(): (string | null)[] {
    return this.#fields.map((field) => none[field]);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async #findAny(): Promise<boolean> {
    const { rows } = await raw`select 1 from trace_feedback
      where workspace_id = ${this.#workspaceId} and run_id is not null limit 1`.execute(this.#database.sql);
    return rows.length > 0;
  }
}

async function findFeedbacks(
  sql: Database["sql"],
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await raw<{ run_id: string; feedbacks: string }>`
    select f.run_id, ${raw.raw(feedbacksSql)} as feedbacks from trace_feedback f
    where f.run_id = any(${ids}::uuid[]) and f.workspace_id = ${workspaceId} group by f.run_id`.execute(sql);
  return new Map(rows.map((row) => [row.run_id, row.feedbacks]));
}
