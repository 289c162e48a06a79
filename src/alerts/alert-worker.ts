import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { AppError, errorMessage } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import {
  type AlertEvent,
  type AlertRule,
  alertTransitions,
  canJudge,
  isMuted,
  judge,
  type Measured,
  windowOf,
} from "./alert.ts";
import type { AlertNotifier } from "./alert-notifier.ts";
import type { AlertSources } from "./alert-sources.ts";
import { insertEvent, listDueRules, pruneEvents, saveEvaluation } from "./alert-store.ts";
import { eventText } from "./alert-text.ts";

export type AlertWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  sources: AlertSources;
  notifier: AlertNotifier;
};

const rulesAtOnce = 500;
const keptMs = 90 * 24 * 3_600_000;

/** What a rule looks at: its name for people, and the project its runs are in. */
type Subject = { name: string | null; projectId: string | null; isAsleep?: boolean | undefined };

/** Evaluates the rules that are due, and records and announces each change of their states. */
export class AlertWorker {
  readonly #options: AlertWorkerOptions;

  constructor(options: AlertWorkerOptions) {
    this.#options = options;
  }

  async evaluate(signal: AbortSignal): Promise<void> {
    const { database, clock, logger } = this.#options;
    for (const rule of await listDueRules(database.sql, clock.now(), rulesAtOnce)) {
      signal.throwIfAborted();
      try {
        await this.#look(rule);
      } catch (error) {
        if (error instanceof AppError && error.retryable) throw error;
        logger.warn({ alert: rule.id, reason: errorMessage(error) }, "an alert could not be evaluated");
      }
    }
    await pruneEvents(database.sql, new Date(clock.now().getTime() - keptMs));
  }

  async #look(rule: AlertRule): Promise<void> {
    const { database, clock } = this.#options;
    const now = clock.now();
    const subject = await this.#subjectOf(rule);
    if ("problem" in subject || !canJudge(rule, now)) {
      const problem = "problem" in subject ? subject.problem : null;
      await saveEvaluation(database.sql, rule, { state: rule.state, value: null, problem }, now);
      return;
    }
    const { verdict, value } = judge(rule, await this.#measure(rule, subject, now));
    const state = alertTransitions[rule.state][verdict];
    await database.transaction(async (tx) => {
      if (!(await saveEvaluation(tx, rule, { state, value, problem: null }, now))) return;
      if (state === rule.state || state === "ok") return;
      const event: AlertEvent = {
        id: newId(),
        rule_id: rule.id,
        workspace_id: rule.workspace_id,
        kind: state,
        value,
        message: eventText(rule, state, { value, scopeName: subject.name }),
        muted: isMuted(rule, now),
        at: now,
      };
      await insertEvent(tx, event);
      if (!event.muted) await this.#options.notifier.announce(tx, rule, event);
    });
  }

  async #subjectOf({ scope, scope_id: id, workspace_id }: AlertRule): Promise<Subject | { problem: string }> {
    const { sources } = this.#options;
    if (scope === "workspace" || id === null) return { name: null, projectId: null };
    if (scope === "project") {
      const found = await sources.project(workspace_id, id);
      return found ? { name: found.name, projectId: id } : { problem: "The project it watches is deleted." };
    }
    const found = await sources.deployment(workspace_id, id);
    if (!found) return { problem: "The deployment it watches is deleted." };
    if (found.projectId === null)
      return {
        problem: "The deployment it watches has no tracing project here, so its runs cannot be counted.",
      };
    return { name: found.name, projectId: found.projectId, isAsleep: found.isAsleep };
  }

  async #measure(rule: AlertRule, { projectId, isAsleep }: Subject, now: Date): Promise<Measured> {
    const { sources } = this.#options;
    const window = windowOf(rule, now);
    switch (rule.kind) {
      case "no_traffic":
        // It sleeps because it has no traffic, and that is as it should be.
        if (isAsleep) return { kind: "traffic", seen: true };
        return { kind: "traffic", seen: await sources.hasRuns(rule.workspace_id, projectId, window) };
      case "export_failed":
        return { kind: "exports", failed: await sources.failedExports(rule.workspace_id, projectId, window) };
      default:
        return { kind: "runs", figures: await sources.runFigures(rule.workspace_id, projectId, window) };
    }
  }
}
