import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { Database } from "../../../../platform/db/database.ts";
import type { Logger } from "../../../../platform/logger.ts";
import type { Feedback, FeedbackChange } from "../../../runs/feedback.ts";
import { EarlyFeedbackRounds, type EarlyPlace, earlyAtOnce } from "../../early-feedback.ts";
import { deleteFeedback, updateFeedback, upsertFeedback } from "../../feedback-row-store.ts";
import type { RunFeedback } from "../../run-storage.ts";
import { Values } from "../filter/condition.ts";
import { FeedbackCopies, type FeedbackKey } from "./feedback-copies.ts";
import { findRunOfFeedback, listEarlyFeedback, settleFeedback } from "./feedback-copy-store.ts";

/** Far longer than a statement on a few rows takes. */
const defaultRepairAfterMs = 5 * 60_000;

export type ClickHouseRunFeedbackOptions = {
  clickHouse: ClickHouse;
  database: Database;
  logger: Logger;
  /** After how long a change that was begun is taken as ended, whatever became of it. */
  repairAfterMs?: number;
};

type Place = { id: string; workspace_id: string; project_id: string; trace_id: string };

/**
 * Feedback in PostgreSQL, and its copy beside the runs. Each change is marked there before it is made here: while ClickHouse
 * is away nothing changes, and when it goes away in between, or this process does, the mark brings the copy later.
 */
export class ClickHouseRunFeedback implements RunFeedback {
  readonly #clickHouse: ClickHouse;
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #repairAfterMs: number;
  readonly #copies: FeedbackCopies;
  readonly #early: EarlyFeedbackRounds;

  constructor(options: ClickHouseRunFeedbackOptions) {
    const { clickHouse, database, repairAfterMs = defaultRepairAfterMs } = options;
    this.#clickHouse = clickHouse;
    this.#database = database;
    this.#logger = options.logger;
    this.#repairAfterMs = repairAfterMs;
    this.#copies = new FeedbackCopies({ clickHouse, database, repairAfterMs });
    this.#early = new EarlyFeedbackRounds((before) => this.#settleBefore(before));
  }

  async save(feedback: readonly Feedback[], onlyProjectId?: string): Promise<Feedback[]> {
    if (feedback.length === 0) return [];
    const onRuns = feedback.filter(isOnRun);
    const places = await this.#placesOf(onRuns);
    const placed = feedback.map((each) => {
      const place = each.run_id === null ? undefined : places.get(placeKey(each.workspace_id, each.run_id));
      return {
        ...each,
        trace_id: each.trace_id ?? place?.trace_id ?? null,
        project_id: place?.project_id ?? each.project_id,
      };
    });
    return await this.#changing(onRuns, async () => {
      const saved = await upsertFeedback(this.#database.sql, placed, { onlyProjectId });
      return { result: saved, changed: saved.filter(isOnRun) };
    });
  }

  async update(
    workspaceId: string,
    id: string,
    change: FeedbackChange,
    now: Date,
  ): Promise<Feedback | undefined> {
    return await this.#changingOne(workspaceId, id, () =>
      updateFeedback(this.#database.sql, workspaceId, id, change, now),
    );
  }

  async remove(workspaceId: string, id: string): Promise<boolean> {
    return await this.#changingOne(workspaceId, id, () =>
      deleteFeedback(this.#database.sql, workspaceId, id),
    );
  }

  async settleEarly(): Promise<void> {
    await this.#early.settle();
    await this.#copies.repair();
  }

  async #settleBefore(before: EarlyPlace | undefined): Promise<EarlyPlace | undefined> {
    const early = await listEarlyFeedback(this.#database.sql, before);
    const places = await this.#placesOf(early);
    const settled = early.flatMap((each) => {
      const place = places.get(placeKey(each.workspace_id, each.run_id));
      return place ? [{ ...place, ...each }] : [];
    });
    if (settled.length > 0)
      await this.#changing(settled, async () => {
        await settleFeedback(this.#database.sql, settled);
        return { result: undefined, changed: settled };
      });
    return early.length < earlyAtOnce ? undefined : early.at(-1);
  }

  /** Feedback on a project itself has no copy. */
  async #changingOne<Result>(
    workspaceId: string,
    id: string,
    change: () => Promise<Result>,
  ): Promise<Result> {
    const key = await findRunOfFeedback(this.#database.sql, workspaceId, id);
    if (!key) return await change();
    return await this.#changing([key], async () => ({ result: await change(), changed: [key] }));
  }

  async #changing<Result>(
    keys: readonly FeedbackKey[],
    change: () => Promise<{ result: Result; changed: readonly FeedbackKey[] }>,
  ): Promise<Result> {
    await this.#copies.mark(keys);
    const markedAt = performance.now();
    const { result, changed } = await change();
    // A mark that may have been taken as settled by now does not stand for this change.
    if (performance.now() - markedAt > this.#repairAfterMs / 2) await this.#copies.mark(changed);
    await this.#copies.copy(changed).catch((error: unknown) => {
      this.#logger.warn(
        { err: error },
        "feedback is stored, but filters and statistics see it only in a few minutes",
      );
    });
    return result;
  }

  /** Where runs stand, as far as they are stored. */
  async #placesOf(feedback: readonly FeedbackKey[]): Promise<Map<string, Place>> {
    if (feedback.length === 0) return new Map();
    const values = new Values();
    const list = (items: string[]) => values.bind([...new Set(items)], "Array(UUID)");
    const rows = await this.#clickHouse.rows<Place>(
      `select workspace_id, id, project_id, trace_id from trace_runs final
        where workspace_id in ${list(feedback.map((each) => each.workspace_id))}
          and id in ${list(feedback.map((each) => each.run_id))} and not is_gone`,
      { params: values.params },
    );
    return new Map(rows.map((row) => [placeKey(row.workspace_id, row.id), row]));
  }
}

const placeKey = (workspaceId: string, runId: string) => `${workspaceId}/${runId}`;

function isOnRun(feedback: Feedback): feedback is Feedback & { run_id: string } {
  return feedback.run_id !== null;
}
