import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Feedback, feedbackNotFound } from "./feedback.ts";
import {
  deleteFeedback,
  type FeedbackChange,
  type FeedbackFilter,
  findFeedback,
  listFeedback,
  settleEarlyFeedback,
  updateFeedback,
  upsertFeedback,
} from "./feedback-store.ts";
import { readFeedback } from "./read-feedback.ts";

export type FeedbackService = ReturnType<typeof createFeedbackService>;

export function createFeedbackService(options: { database: Database; clock: Clock }) {
  const { database, clock } = options;
  const { sql } = database;
  return {
    read(workspaceId: string, record: Record<string, unknown>, id: string = newId()): Feedback {
      return readFeedback(record, { workspaceId, id, receivedAt: clock.now().toISOString() });
    },
    /** The ids that were written; an id of another workspace is not. */
    async save(feedback: readonly Feedback[]): Promise<Feedback[]> {
      // One statement may not write an id twice; the last one sent stands.
      const unique = new Map(feedback.map((each) => [each.id, each]));
      return upsertFeedback(sql, [...unique.values()]);
    },
    async create(workspaceId: string, record: Record<string, unknown>): Promise<Feedback> {
      const [saved] = await this.save([this.read(workspaceId, record)]);
      if (saved) return saved;
      throw new AppError({
        code: "traces.feedback_exists",
        kind: "conflict",
        message: "This feedback id is taken. Send another id, or none.",
      });
    },
    async get(workspaceId: string, id: string): Promise<Feedback> {
      const found = await findFeedback(sql, workspaceId, id);
      if (!found) throw feedbackNotFound(id);
      return found;
    },
    list: (workspaceId: string, filter: FeedbackFilter): Promise<Feedback[]> =>
      listFeedback(sql, workspaceId, filter),
    async update(workspaceId: string, id: string, change: FeedbackChange): Promise<Feedback> {
      const updated = await updateFeedback(sql, workspaceId, id, change, clock.now());
      if (!updated) throw feedbackNotFound(id);
      return updated;
    },
    async remove(workspaceId: string, id: string): Promise<void> {
      if (!(await deleteFeedback(sql, workspaceId, id))) throw feedbackNotFound(id);
    },
    settleEarly: (): Promise<void> => settleEarlyFeedback(sql),
  };
}
