import { randomUUID } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Feedback } from "../runs/feedback.ts";
import { idTaken } from "./feedback.ts";
import { insertFeedbackConfig } from "./feedback-config-store.ts";
import type { FeedbackService } from "./feedback-service.ts";
import { findFeedback } from "./feedback-store.ts";
import { defaultLifeMs, type FeedbackToken, tokenNotFound } from "./feedback-token.ts";
import {
  deleteEndedFeedbackTokens,
  findFeedbackToken,
  insertFeedbackTokens,
  listFeedbackTokens,
} from "./feedback-token-store.ts";

export type NewFeedbackToken = {
  runId: string;
  key: string;
  expiresAt: Date;
  feedbackId?: string | undefined;
  config?: unknown;
};

export type FeedbackTokenServiceOptions = {
  database: Database;
  clock: Clock;
  feedback: FeedbackService;
  /** Where this server is reached from outside. */
  publicUrl?: (() => string) | undefined;
};

/** Links for giving feedback without a key: for pages and mails that show what an agent did. */
export class FeedbackTokenService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #feedback: FeedbackService;
  readonly #publicUrl: (() => string) | undefined;
  readonly #sql: Sql;

  constructor(options: FeedbackTokenServiceOptions) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#feedback = options.feedback;
    this.#publicUrl = options.publicUrl;
    this.#sql = options.database.sql;
  }

  /** A config in the request counts for a key that has none yet. */
  async create(workspaceId: string, sent: readonly NewFeedbackToken[]): Promise<FeedbackToken[]> {
    if (sent.length === 0) return [];
    return this.#database.transaction(async (tx) => {
      for (const { key, config } of sent) {
        if (config == null) continue;
        await insertFeedbackConfig(tx, {
          workspace_id: workspaceId,
          feedback_key: key,
          feedback_config: config,
          is_lower_score_better: false,
        });
      }
      const tokens = sent.map((each) => ({
        id: randomUUID(),
        workspace_id: workspaceId,
        run_id: each.runId,
        feedback_key: each.key,
        feedback_id: each.feedbackId ?? newId(),
        feedback_config: each.config ?? null,
        expires_at: each.expiresAt,
      }));
      return insertFeedbackTokens(tx, tokens);
    });
  }

  /** `requestUrl` is how the caller reached this server, used when no public address is set. */
  urlOf(token: FeedbackToken, requestUrl?: string): string {
    const base = this.#publicUrl?.() || (requestUrl ? new URL(requestUrl).origin : "");
    return `${base}/api/v1/feedback/tokens/${token.id}`;
  }

  /** By key: where feedback on a run of this process may be given. The run need not be stored yet. */
  async urlsFor(
    workspaceId: string,
    runId: string,
    keys: readonly string[],
  ): Promise<Record<string, string>> {
    const expiresAt = new Date(this.#clock.now().getTime() + defaultLifeMs);
    const unique = [...new Set(keys)];
    const tokens = await this.create(
      workspaceId,
      unique.map((key) => ({ runId, key, expiresAt })),
    );
    return Object.fromEntries(tokens.map((token) => [token.feedback_key, this.urlOf(token)]));
  }

  list(workspaceId: string, page: { runId: string; limit: number; offset: number }) {
    return listFeedbackTokens(this.#sql, workspaceId, { ...page, now: this.#clock.now() });
  }

  /** Everyone with the link can give the feedback; new feedback replaces earlier feedback with the same link. */
  async give(id: string, given: Record<string, unknown>): Promise<Feedback> {
    const token = await findFeedbackToken(this.#sql, id, this.#clock.now());
    if (!token) throw tokenNotFound();
    // The id may be one the caller chose: a link replaces what was given with it, and nothing else.
    const before = await findFeedback(this.#sql, token.workspace_id, token.feedback_id);
    if (before && (before.run_id !== token.run_id || before.key !== token.feedback_key)) throw idTaken();
    const read = this.#feedback.read(token.workspace_id, {
      score: given.score,
      value: given.value,
      comment: given.comment,
      correction: given.correction,
      id: token.feedback_id,
      run_id: token.run_id,
      key: token.feedback_key,
      feedback_config: token.feedback_config,
      feedback_source: { type: "api", metadata: given.metadata ?? null },
    });
    const [saved] = await this.#feedback.save([read]);
    if (!saved) throw idTaken();
    return saved;
  }

  removeEnded(): Promise<void> {
    return deleteEndedFeedbackTokens(this.#sql, this.#clock.now());
  }
}
