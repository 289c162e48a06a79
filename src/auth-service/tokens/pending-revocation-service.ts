import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { JobContext } from "../../platform/jobs/job-worker.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import * as store from "./pending-revocation-store.ts";
import {
  accessTokenContext,
  pendingAccessTokenContext,
  pendingRefreshTokenContext,
  refreshTokenContext,
} from "./sealed-columns.ts";
import type { Token } from "./token.ts";
import type { EventInput, TokenEventService } from "./token-event-service.ts";
import type { TokenRevocation } from "./token-revocation-service.ts";

export const revokePendingJobKind = "auth.revoke_pending";
/** With the queue's pauses, about two hours: a provider may be down for that long. */
const maxAttempts = 20;

export type PendingSource = "owner" | "new consent";

type PendingRevocationsOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  providers: ProviderService;
  events: TokenEventService;
  revocation: TokenRevocation;
};

/** Tokens that are out of use here and still to be revoked at their provider. */
export class PendingRevocations {
  readonly #options: PendingRevocationsOptions;

  constructor(options: PendingRevocationsOptions) {
    this.#options = options;
  }

  /** In the transaction that takes the token out of use. A job revokes it at the provider, after the commit. */
  async leave(tx: Sql, token: Token, source: PendingSource): Promise<void> {
    const { secretBox, clock } = this.#options;
    const id = newId();
    const { refresh_token_sealed: refresh } = token;
    const access = secretBox.open(token.access_token_sealed, accessTokenContext(token.id));
    const row = {
      id,
      workspace_id: token.workspace_id,
      provider: token.provider,
      owner_id: token.owner_id,
      token_id: token.id,
      subject: token.subject,
      agent_id: token.agent_id,
      provider_account_label: token.provider_account_label,
      scopes: token.scopes,
      source,
      access_token_sealed: secretBox.seal(access, pendingAccessTokenContext(id)),
      refresh_token_sealed:
        refresh === null
          ? null
          : secretBox.seal(
              secretBox.open(refresh, refreshTokenContext(token.id)),
              pendingRefreshTokenContext(id),
            ),
    };
    await store.insertPendingRevocation(tx, row, clock.now());
    await enqueue(tx, {
      kind: revokePendingJobKind,
      payload: { revocation: id },
      workspaceId: token.workspace_id,
      maxAttempts,
    });
  }

  /** The job. */
  async revoke({ job, attempt }: JobContext): Promise<void> {
    const { revocation: id } = job.payload as { revocation: string };
    await this.#revokeOne(id, attempt >= maxAttempts);
  }

  /** Before a provider goes for good: each is tried once more. */
  async finishProvider(provider: string): Promise<void> {
    for (const id of await store.listPendingOfProvider(this.#options.database.sql, provider))
      await this.#revokeOne(id, true);
  }

  async #revokeOne(id: string, isLast: boolean): Promise<void> {
    const { database, providers, revocation, secretBox, events } = this.#options;
    const row = await store.findPendingRevocation(database.sql, id);
    const provider = row && (await providers.find(row.provider));
    if (!row || !provider) return;
    let event: EventInput;
    try {
      const known = await providers.findRevocation(provider);
      const { refresh_token_sealed: refresh } = row;
      const outcome = await revocation.revoke({
        provider: known,
        clientSecret: providers.secretOf(known),
        accessToken: secretBox.open(row.access_token_sealed, pendingAccessTokenContext(id)),
        refreshToken: refresh === null ? null : secretBox.open(refresh, pendingRefreshTokenContext(id)),
      });
      event =
        outcome === "revoked"
          ? { type: row.source === "owner" ? "revoked" : "earlier_revoked", source: row.source }
          : notToldEvent(row, "no_revocation_endpoint", "The provider offers no revocation endpoint.");
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (!isLast) throw notYet(error);
      event = notToldEvent(
        row,
        "revocation_failed",
        `The provider did not revoke the token. ${error.message}`,
      );
    }
    await database.transaction(async (tx) => {
      if (!(await store.deletePendingRevocation(tx, id))) return;
      await events.record(tx, { ...row, id: row.token_id }, event);
    });
  }
}

function notToldEvent(row: store.PendingRevocation, reason: string, why: string): EventInput {
  const what =
    row.source === "owner"
      ? "The token was deleted here only."
      : "The token of the earlier consent is no longer used. At the provider it is valid until it expires.";
  const type = row.source === "owner" ? "deleted_locally" : "earlier_left";
  return { type, source: row.source, reason, detail: `${why} ${what}` };
}

function notYet(cause: AppError): AppError {
  return new AppError({
    code: "token.pending_not_revoked",
    kind: "bad_gateway",
    message: `A token that is no longer used could not be revoked yet. ${cause.message}`,
    retryable: true,
    cause,
  });
}
