import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import { enqueue, getJob } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { Logger } from "../../platform/logger.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { mayPass, signatureHeader, signWebhook } from "../../platform/network/signed-webhook.ts";
import { isActive, type Run } from "../runs/run.ts";
import type { RunResult } from "../runs/run-end.ts";
import { toRunView } from "../runs/run-schemas.ts";
import { parseWebhookUrl, type WebhookJob, type WebhookSnapshot, webhookBody } from "./webhook.ts";
import type { WebhookConfig } from "./webhook-config.ts";
import { type EndedRun, findRunWithValues, replacePayload } from "./webhook-store.ts";

export const webhookJobKind = "agent.webhook";

/** With the queue's doubling waits: about 40 minutes. */
const maxAttempts = 12;
const timeoutMs = 15_000;
/** The end of the run is written right after the job; who looks at once would only have to look again. */
const headStartMs = 250;

export type RunWebhooksOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  network: NetworkGuard;
  config: WebhookConfig;
  /** Requests are signed with it; without one they are not. */
  secret: string | undefined;
  /** Answers for the routes of the project's own application; undefined where there is none. */
  callProject?: ((request: Request) => Response | Promise<Response>) | undefined;
};

/** Posts to a URL of the caller's choice how a run ended, at least once. */
export class RunWebhooks {
  readonly #options: RunWebhooksOptions;

  constructor(options: RunWebhooksOptions) {
    this.#options = options;
  }

  /** Refuses, before the run exists, what could never be delivered. */
  async check(url: string): Promise<void> {
    const { config, network } = this.#options;
    if (!config.enabled) throw invalidField(["body", "webhook"], "webhooks are switched off on this server");
    if (isOwnRoute(url)) {
      if (!this.#options.callProject) throw invalidField(["body", "webhook"], noOwnRoutes, url);
      return;
    }
    const parsed = parseWebhookUrl(url, config.policy);
    try {
      await network.checkUrl(parsed);
    } catch (error) {
      // A name that does not resolve now may well do so when the run is over.
      if (!(error instanceof AppError) || error.code === "network.name_unknown") return;
      throw invalidField(["body", "webhook"], error.message, url);
    }
  }

  /**
   * Called before the end of a run is written. A crash in between leaves a job that waits for the run's next
   * attempt to end; the other way round it would leave a run without its webhook.
   */
  async announce(run: Run, result: Pick<RunResult, "outcome" | "resultJson">): Promise<void> {
    const { webhook } = run.kwargs;
    if (!webhook) return;
    const { outcome } = result;
    const now = this.#options.clock.now();
    const ended = { ...run, status: outcome.status, updated_at: now, ended_at: now, error: outcome.error };
    const values = outcome.error ? JSON.parse(outcome.valuesJson ?? "null") : JSON.parse(result.resultJson);
    await this.#enqueue(this.#options.database.sql, ended, webhook, values);
  }

  /** A run that was cancelled before it began; part of the transaction that ends it. */
  async announceCancelled(tx: Sql, runId: string): Promise<void> {
    const found = await findRunWithValues(tx, runId);
    if (found?.run.kwargs.webhook) {
      await this.#enqueue(tx, found.run, found.run.kwargs.webhook, found.values);
    }
  }

  async #enqueue(sql: Sql, run: Run, url: string, values: unknown): Promise<void> {
    const payload: WebhookJob = {
      run_id: run.run_id,
      attempt: run.attempt,
      url,
      temporary: run.temporary,
      snapshot: JSON.stringify(snapshotOf({ run, values })),
    };
    const job = await enqueue(sql, {
      kind: webhookJobKind,
      payload,
      runAt: new Date(this.#options.clock.now().getTime() + headStartMs),
      idempotencyKey: run.run_id,
      workspaceId: run.workspace_id,
      maxAttempts,
    });
    if (!job.created) await replacePayload(sql, job.id, payload);
  }

  /** The handler of the job. */
  async deliver({ job, signal }: JobContext): Promise<void> {
    const { database, logger } = this.#options;
    let payload = job.payload as WebhookJob;
    const found = await findRunWithValues(database.sql, payload.run_id);
    if (found) {
      if (isActive(found.run.status)) throw notOver(payload.run_id);
      const isSame = found.run.attempt === payload.attempt;
      await this.#send(payload, isSame ? parseSnapshot(payload) : snapshotOf(found), signal);
      return;
    }
    if (!payload.temporary) {
      logger.info({ runId: payload.run_id }, "webhook dropped: its run was deleted");
      return;
    }
    // Read again: another attempt may have ended after this job was claimed.
    payload = (await getJob(database.sql, job.id)).payload as WebhookJob;
    await this.#send(payload, parseSnapshot(payload), signal);
  }

  async #send(payload: WebhookJob, snapshot: WebhookSnapshot, signal: AbortSignal): Promise<void> {
    const { config, secret, clock } = this.#options;
    const sentAt = clock.now();
    const body = webhookBody(snapshot, sentAt);
    const headers = {
      ...config.headers,
      "content-type": "application/json",
      "user-agent": "treadle-webhook",
      "x-treadle-run-id": payload.run_id,
      ...(secret ? { [signatureHeader]: signWebhook(secret, body, sentAt) } : {}),
    };
    const status = await this.#post(payload.url, headers, body, signal);
    if (status >= 300) throw refusedBy(payload, status);
  }

  async #post(
    url: string,
    headers: Record<string, string>,
    body: string,
    signal: AbortSignal,
  ): Promise<number> {
    const { network, callProject } = this.#options;
    const request = { method: "POST", headers, body };
    if (!isOwnRoute(url)) {
      return (await network.guardedFetch(url, { ...request, signal, timeoutMs, redirect: "manual" })).status;
    }
    if (!callProject) throw refused(noOwnRoutes);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const target = new Request(new URL(url, ownHost), { ...request, signal: limit });
    const response = await untilAborted(callProject(target), limit);
    await response.body?.cancel();
    return response.status;
  }
}

/** A path without a host: the project's own application is meant, in this process. */
function isOwnRoute(url: string): boolean {
  return /^\/(?![/\\])/.test(url);
}

const ownHost = "http://localhost";
const noOwnRoutes =
  "a webhook without a host calls a route of the project's own application (http.app), and this server has none; send a full URL";

function refused(message: string): AppError {
  return new AppError({ code: "webhook.refused", kind: "bad_gateway", message, retryable: false });
}

/** An application may take no notice of the signal. */
function untilAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    Promise.resolve(work).then(resolve, reject);
  });
}

function snapshotOf({ run, values }: EndedRun): WebhookSnapshot {
  return {
    run: toRunView(run),
    status: run.status,
    run_started_at: run.started_at?.toISOString() ?? null,
    run_ended_at: run.ended_at?.toISOString() ?? null,
    values,
    error: run.error,
  };
}

function parseSnapshot(payload: WebhookJob): WebhookSnapshot {
  return JSON.parse(payload.snapshot) as WebhookSnapshot;
}

function notOver(runId: string): AppError {
  return new AppError({
    code: "webhook.run_not_over",
    kind: "unavailable",
    message: `Run ${runId} has not ended yet; its webhook waits.`,
  });
}

function refusedBy({ url, run_id }: WebhookJob, status: number): AppError {
  return new AppError({
    code: "webhook.refused",
    kind: "bad_gateway",
    message: `${isOwnRoute(url) ? url : new URL(url).host} responded to the webhook of run ${run_id} with status ${status}.`,
    retryable: mayPass(status),
  });
}
