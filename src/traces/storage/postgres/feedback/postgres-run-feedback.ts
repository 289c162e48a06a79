import type { Database, Sql } from "../../../../platform/db/database.ts";
import type { Feedback, FeedbackChange } from "../../../runs/feedback.ts";
import type { RunFeedback } from "../../run-storage.ts";
import { deleteFeedback, settleEarlyFeedback, updateFeedback, upsertFeedback } from "./run-feedback-store.ts";

export class PostgresRunFeedback implements RunFeedback {
  readonly #sql: Sql;

  constructor({ database }: { database: Database }) {
    this.#sql = database.sql;
  }

  save(feedback: readonly Feedback[], onlyProjectId?: string): Promise<Feedback[]> {
    return upsertFeedback(this.#sql, feedback, onlyProjectId);
  }

  update(workspaceId: string, id: string, change: FeedbackChange, now: Date): Promise<Feedback | undefined> {
    return updateFeedback(this.#sql, workspaceId, id, change, now);
  }

  remove(workspaceId: string, id: string): Promise<boolean> {
    return deleteFeedback(this.#sql, workspaceId, id);
  }

  settleEarly(): Promise<void> {
    return settleEarlyFeedback(this.#sql);
  }
}
