import type { Database, Sql } from "../../../../platform/db/database.ts";
import type { Feedback, FeedbackChange } from "../../../runs/feedback.ts";
import { EarlyFeedbackRounds } from "../../early-feedback.ts";
import { deleteFeedback, updateFeedback, upsertFeedback } from "../../feedback-row-store.ts";
import type { RunFeedback } from "../../run-storage.ts";
import { runOfFeedback, settleEarlyFeedback } from "./run-feedback-store.ts";

export class PostgresRunFeedback implements RunFeedback {
  readonly #sql: Sql;
  readonly #early: EarlyFeedbackRounds;

  constructor({ database }: { database: Database }) {
    this.#sql = database.sql;
    this.#early = new EarlyFeedbackRounds((before) => settleEarlyFeedback(this.#sql, before));
  }

  save(feedback: readonly Feedback[], onlyProjectId?: string): Promise<Feedback[]> {
    return upsertFeedback(this.#sql, feedback, { onlyProjectId, runOf: runOfFeedback });
  }

  update(workspaceId: string, id: string, change: FeedbackChange, now: Date): Promise<Feedback | undefined> {
    return updateFeedback(this.#sql, workspaceId, id, change, now);
  }

  remove(workspaceId: string, id: string): Promise<boolean> {
    return deleteFeedback(this.#sql, workspaceId, id);
  }

  settleEarly(): Promise<void> {
    return this.#early.settle();
  }
}
