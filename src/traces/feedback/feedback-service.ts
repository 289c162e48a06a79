import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { OneProject, OneProjectRules } from "../projects/one-project.ts";
import type { Feedback, FeedbackChange } from "../runs/feedback.ts";
import type { RunFeedback } from "../storage/run-storage.ts";
import { feedbackNotFound, idTaken } from "./feedback.ts";
import { type FeedbackFilter, findFeedback, listFeedback } from "./feedback-store.ts";
import { readFeedback } from "./read-feedback.ts";

export type FeedbackServiceOptions = {
  database: Database;
  clock: Clock;
  oneProject: OneProjectRules;
  changes: RunFeedback;
};

/** Feedback on runs and projects, also on runs that have not arrived yet. */
export class FeedbackService {
  readonly #clock: Clock;
  readonly #oneProject: OneProjectRules;
  readonly #changes: RunFeedback;
  readonly #sql: Sql;

  constructor(options: FeedbackServiceOptions) {
    this.#clock = options.clock;
    this.#oneProject = options.oneProject;
    this.#changes = options.changes;
    this.#sql = options.database.sql;
  }

  read(workspaceId: string, record: Record<string, unknown>, id: string = newId()): Feedback {
    return readFeedback(record, { workspaceId, id, receivedAt: this.#clock.now().toISOString() });
  }

  /** Throws when it is on something outside the one project its sender may write to. */
  async checkSender(
    feedback: Feedback,
    only: OneProject | undefined,
    known?: ReadonlySet<string>,
  ): Promise<void> {
    if (feedback.project_id !== null) this.#oneProject.checkProject(only, feedback.project_id);
    if (feedback.run_id !== null)
      await this.#oneProject.checkRun(feedback.workspace_id, only, feedback.run_id, known);
  }

  /** The ids that were written; an id of another workspace, or of another project than the one given, is not. */
  async save(feedback: readonly Feedback[], only?: OneProject): Promise<Feedback[]> {
    // One statement may not write an id twice; the last one sent stands.
    const unique = new Map(feedback.map((each) => [each.id, each]));
    return this.#changes.save([...unique.values()], only?.id);
  }

  async create(
    sender: { workspaceId: string; tracingProject?: string },
    record: Record<string, unknown>,
  ): Promise<Feedback> {
    const only = await this.#oneProject.find(sender.workspaceId, sender.tracingProject);
    const read = this.read(sender.workspaceId, record);
    await this.checkSender(read, only);
    const [saved] = await this.save([read], only);
    if (saved) return saved;
    throw idTaken();
  }

  async get(workspaceId: string, id: string): Promise<Feedback> {
    const found = await findFeedback(this.#sql, workspaceId, id);
    if (!found) throw feedbackNotFound(id);
    return found;
  }

  list(workspaceId: string, filter: FeedbackFilter): Promise<Feedback[]> {
    return listFeedback(this.#sql, workspaceId, filter);
  }

  async update(workspaceId: string, id: string, change: FeedbackChange): Promise<Feedback> {
    const updated = await this.#changes.update(workspaceId, id, change, this.#clock.now());
    if (!updated) throw feedbackNotFound(id);
    return updated;
  }

  async remove(workspaceId: string, id: string): Promise<void> {
    if (!(await this.#changes.remove(workspaceId, id))) throw feedbackNotFound(id);
  }

  settleEarly(): Promise<void> {
    return this.#changes.settleEarly();
  }
}
