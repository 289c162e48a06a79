import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { OneProject, OneProjectRules } from "../projects/one-project.ts";
import { type Feedback, feedbackNotFound, idTaken } from "./feedback.ts";
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

export function createFeedbackService(options: {
  database: Database;
  clock: Clock;
  oneProject: OneProjectRules;
}) {
  const { database, clock, oneProject } = options;
  const { sql } = database;
  return {
    read(workspaceId: string, record: Record<string, unknown>, id: string = newId()): Feedback {
      return readFeedback(record, { workspaceId, id, receivedAt: clock.now().toISOString() });
    },
    /** Throws when it is on something outside the one project its sender may write to. */
    async checkSender(
      feedback: Feedback,
      only: OneProject | undefined,
      known?: ReadonlySet<string>,
    ): Promise<void> {
      if (feedback.project_id !== null) oneProject.checkProject(only, feedback.project_id);
      if (feedback.run_id !== null)
        await oneProject.checkRun(feedback.workspace_id, only, feedback.run_id, known);
    },
    /** The ids that were written; an id of another workspace, or of another project than the one given, is not. */
    async save(feedback: readonly Feedback[], only?: OneProject): Promise<Feedback[]> {
      // One statement may not write an id twice; the last one sent stands.
      const unique = new Map(feedback.map((each) => [each.id, each]));
      return upsertFeedback(sql, [...unique.values()], only?.id);
    },
    async create(
      sender: { workspaceId: string; tracingProject?: string },
      record: Record<string, unknown>,
    ): Promise<Feedback> {
      const only = await oneProject.find(sender.workspaceId, sender.tracingProject);
      const read = this.read(sender.workspaceId, record);
      await this.checkSender(read, only);
      const [saved] = await this.save([read], only);
      if (saved) return saved;
      throw idTaken();
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
