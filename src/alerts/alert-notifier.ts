import type { Clock } from "../platform/clock.ts";
import type { Database, Sql } from "../platform/db/database.ts";
import type { SecretBox } from "../platform/encryption/secret-box.ts";
import { AppError, errorMessage } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { enqueue } from "../platform/jobs/job-queue.ts";
import type { JobContext } from "../platform/jobs/job-worker.ts";
import type { Logger } from "../platform/logger.ts";
import type { MailSender } from "../platform/mail/mail-sender.ts";
import type { NetworkGuard } from "../platform/network/network-guard.ts";
import { mayPass, signatureHeader, signWebhook } from "../platform/network/signed-webhook.ts";
import type { AlertDelivery, AlertEvent, AlertRule } from "./alert.ts";
import {
  type DueDelivery,
  findDelivery,
  insertDeliveries,
  listDeliveries,
  saveDelivery,
} from "./alert-store.ts";
import { alertWebhookContext } from "./sealed-columns.ts";

export const deliveryJobKind = "alerts.deliver";
/** With the queue's doubling waits: about 40 minutes. */
const maxAttempts = 12;
const timeoutMs = 15_000;

export type AlertNotifierOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  network: NetworkGuard;
  /** Null where the operator has set no mail server. */
  mail: Pick<MailSender, "send"> | null;
  publicUrl(): string;
};

export type SealedWebhook = { url: string; secret: string };

/** Notifies people of a rule's change: a delivery for each address and for the webhook, each a separate job. */
export class AlertNotifier {
  readonly #options: AlertNotifierOptions;

  constructor(options: AlertNotifierOptions) {
    this.#options = options;
  }

  /** Part of the transaction that changes the rule: no change without its notification, none twice. */
  async announce(tx: Sql, rule: AlertRule, event: AlertEvent): Promise<void> {
    for (const { id } of await this.#prepare(tx, rule, event)) {
      const payload = { delivery_id: id };
      const { workspace_id: workspaceId } = rule;
      await enqueue(tx, { kind: deliveryJobKind, payload, idempotencyKey: id, workspaceId, maxAttempts });
    }
  }

  /** Sends immediately and without retries, for a caller that waits for the result. */
  async sendNow(rule: AlertRule, event: AlertEvent, signal: AbortSignal): Promise<AlertDelivery[]> {
    const { database } = this.#options;
    const made = await this.#prepare(database.sql, rule, event);
    // How each of them ended is read back below.
    await Promise.all(
      made.map(({ id }) => this.#attempt(id, { isLast: true, signal }).catch(() => undefined)),
    );
    return listDeliveries(database.sql, [event.id]);
  }

  /** The handler of the job. */
  async deliver({ job, attempt, signal }: JobContext): Promise<void> {
    const { delivery_id: id } = job.payload as { delivery_id: string };
    await this.#attempt(id, { isLast: attempt >= maxAttempts, signal });
  }

  async #prepare(sql: Sql, rule: AlertRule, event: AlertEvent) {
    const channels = [
      ...(rule.webhook_host === null ? [] : [{ channel: "webhook" as const, target: rule.webhook_host }]),
      ...rule.emails.map((target) => ({ channel: "email" as const, target })),
    ];
    const rows = channels.map((each) => ({ ...each, id: newId(), event_id: event.id }));
    await insertDeliveries(sql, rows);
    return rows;
  }

  async #attempt(id: string, { isLast, signal }: { isLast: boolean; signal: AbortSignal }): Promise<void> {
    const { database, clock, logger } = this.#options;
    const due = await findDelivery(database.sql, id);
    // Deleted with its rule, or sent by an attempt whose process died before it reported that to the queue.
    if (!due || due.delivery.status === "sent") return;
    try {
      await (due.delivery.channel === "email" ? this.#mail(due) : this.#post(due, signal));
    } catch (error) {
      const final = isLast || !(error instanceof AppError && error.retryable);
      const status = final ? "failed" : "pending";
      await saveDelivery(database.sql, id, { status, error: errorMessage(error), sentAt: null });
      if (final)
        logger.warn({ alert: due.rule.id, reason: errorMessage(error) }, "an alert could not be delivered");
      throw error;
    }
    await saveDelivery(database.sql, id, { status: "sent", error: null, sentAt: clock.now() });
  }

  async #mail({ delivery, event, rule }: DueDelivery): Promise<void> {
    const { mail } = this.#options;
    if (!mail) throw noMailServer();
    const head = { firing: "Firing", resolved: "Resolved", test: "Test" }[event.kind];
    await mail.send({
      to: delivery.target,
      subject: `[Treadle] ${head}: ${rule.name}`,
      text: `${event.message}\n\n${this.#linkOf(rule)}\n`,
      id: delivery.id,
    });
  }

  async #post({ event, rule }: DueDelivery, signal: AbortSignal): Promise<void> {
    const { secretBox, network, clock } = this.#options;
    // The webhook was taken out of the rule meanwhile.
    if (rule.webhook_sealed === null) return;
    const { url, secret } = JSON.parse(
      secretBox.open(rule.webhook_sealed, alertWebhookContext(rule.id)),
    ) as SealedWebhook;
    const body = JSON.stringify(this.#bodyOf(rule, event));
    const { status } = await network.guardedFetch(url, {
      ...{ method: "POST", body, signal, timeoutMs, redirect: "manual", maxResponseBytes: 1_000_000 },
      headers: {
        "content-type": "application/json",
        "user-agent": "treadle-webhook",
        "x-treadle-event-id": event.id,
        [signatureHeader]: signWebhook(secret, body, clock.now()),
      },
    });
    if (status >= 300) throw refusedBy(rule, status);
  }

  /** `text` is what chat services show of a webhook. */
  #bodyOf(rule: AlertRule, event: AlertEvent) {
    const { id, name, kind, scope, scope_id, window_minutes, threshold } = rule;
    return {
      event_id: event.id,
      kind: event.kind,
      at: event.at.toISOString(),
      text: `${event.message} ${this.#linkOf(rule)}`,
      value: event.value,
      workspace_id: event.workspace_id,
      alert: { id, name, kind, scope, scope_id, window_minutes, threshold },
    };
  }

  #linkOf({ id }: AlertRule): string {
    return `${this.#options.publicUrl()}/alerts/${id}`;
  }
}

export function noMailServer(): AppError {
  return new AppError({
    code: "alert.refused",
    kind: "invalid",
    message:
      "This server sends no e-mail. Its operator can set TREADLE_SMTP_URL and TREADLE_SMTP_FROM. A webhook works without them.",
  });
}

function refusedBy({ name, webhook_host }: AlertRule, status: number): AppError {
  return new AppError({
    code: "alert.webhook_refused",
    kind: "bad_gateway",
    message: `${webhook_host} responded to the webhook of the alert ${name} with status ${status}.`,
    retryable: mayPass(status),
  });
}
