import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId, newSecret } from "../../platform/ids.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { mayPass, signatureHeader, signWebhook } from "../../platform/network/signed-webhook.ts";
import type { EndpointCheck } from "../providers/endpoint-check-service.ts";
import { webhookSecretContext } from "./sealed-columns.ts";
import type { Token } from "./token.ts";
import type { TokenEvent, TokenEventType } from "./token-event.ts";
import * as store from "./token-event-store.ts";

export const deliverEventJobKind = "auth.deliver_token_event";
const maxAttempts = 12;
const timeoutMs = 15_000;
const keepMs = 90 * 24 * 60 * 60_000;

export type EventInput = {
  type: TokenEventType;
  source: string;
  reason?: string;
  detail?: string;
};

/** What an event holds of its token. */
export type ConcernedToken = Pick<
  Token,
  "id" | "workspace_id" | "owner_id" | "provider_id" | "agent_id" | "provider_account_label" | "scopes"
>;

export type Webhook = { url: string; created_at: Date; updated_at: Date };

type TokenEventServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  guard: NetworkGuard;
  checkEndpoint: EndpointCheck;
};

/** The log of what happened to tokens, and the webhook that reports it. */
export class TokenEventService {
  readonly #options: TokenEventServiceOptions;

  constructor(options: TokenEventServiceOptions) {
    this.#options = options;
  }

  /** In the transaction of the change itself; the webhook goes out after the commit. */
  async record(tx: Sql, token: ConcernedToken, { type, source, reason, detail }: EventInput): Promise<void> {
    const event: TokenEvent = {
      id: newId(),
      workspace_id: token.workspace_id,
      owner_id: token.owner_id,
      token_id: token.id,
      provider_id: token.provider_id,
      agent_id: token.agent_id === "" ? null : token.agent_id,
      event_type: type,
      reason: reason ?? null,
      source,
      provider_account_label: token.provider_account_label,
      scopes: token.scopes,
      detail: detail ?? null,
      acknowledged_at: null,
      created_at: this.#options.clock.now(),
    };
    await store.insertEvent(tx, event);
    if (!(await store.findWebhook(tx, token.workspace_id))) return;
    await enqueue(tx, {
      kind: deliverEventJobKind,
      payload: { event_id: event.id },
      workspaceId: token.workspace_id,
      maxAttempts,
    });
  }

  list(
    caller: Caller,
    { providerId, limit }: { providerId?: string | undefined; limit: number },
  ): Promise<TokenEvent[]> {
    return store.listEvents(this.#options.database.sql, {
      workspaceId: caller.workspaceId,
      ownerId: caller.userId,
      providerId,
      limit,
    });
  }

  async acknowledge(caller: Caller, id: string): Promise<TokenEvent> {
    const { database, clock } = this.#options;
    const key = { workspaceId: caller.workspaceId, ownerId: caller.userId, id };
    const event = await store.acknowledgeEvent(database.sql, key, clock.now());
    if (!event) throw notFound(`Token event ${id} not found.`);
    return event;
  }

  async webhook(caller: Caller): Promise<Webhook> {
    const webhook = await store.findWebhook(this.#options.database.sql, caller.workspaceId);
    if (!webhook)
      throw notFound("This workspace has no webhook for token events. PUT /v2/auth/webhook sets one.");
    return webhook;
  }

  /** The secret is shown this once. */
  async saveWebhook(caller: Caller, url: string): Promise<Webhook & { secret: string }> {
    const { secretBox, database, clock } = this.#options;
    await this.#options.checkEndpoint("url", url);
    const secret = newSecret();
    const { workspaceId } = caller;
    const secretSealed = secretBox.seal(secret, webhookSecretContext(workspaceId));
    const saved = await store.saveWebhook(database.sql, { workspaceId, url, secretSealed }, clock.now());
    return { ...saved, secret };
  }

  async removeWebhook(caller: Caller): Promise<void> {
    if (await store.deleteWebhook(this.#options.database.sql, caller.workspaceId)) return;
    throw notFound("This workspace has no webhook for token events.");
  }

  /** The handler of the delivery job. */
  async deliver({ job, signal }: JobContext): Promise<void> {
    const { database, secretBox, clock, guard } = this.#options;
    const { event_id } = job.payload as { event_id: string };
    const event = await store.findEvent(database.sql, event_id);
    const webhook = event && (await store.findWebhook(database.sql, event.workspace_id));
    if (!event || !webhook) return;
    const secret = secretBox.open(webhook.secret_sealed, webhookSecretContext(event.workspace_id));
    const sentAt = clock.now();
    const body = JSON.stringify({ type: "token_event", sent_at: sentAt.toISOString(), event });
    const answer = await guard.guardedFetch(webhook.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "treadle-webhook",
        "x-treadle-event-id": event.id,
        [signatureHeader]: signWebhook(secret, body, sentAt),
      },
      body,
      signal,
      timeoutMs,
      redirect: "manual",
    });
    if (answer.status >= 300) throw refusedBy(webhook.url, answer.status);
  }

  prune(): Promise<void> {
    const { database, clock } = this.#options;
    return store.deleteOldEvents(database.sql, new Date(clock.now().getTime() - keepMs));
  }
}

function notFound(message: string): AppError {
  return new AppError({ code: "token_event.not_found", kind: "not_found", message });
}

function refusedBy(url: string, status: number): AppError {
  return new AppError({
    code: "token_event.webhook_refused",
    kind: "bad_gateway",
    message: `${new URL(url).host} responded to the webhook for token events with status ${status}.`,
    retryable: mayPass(status),
  });
}
