import { randomUUID } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { Sql } from "../../db/database.ts";
import { raw } from "../../db/raw.ts";
import type { SealedColumn } from "../../encryption/encryption-rotation.ts";
import type { SecretBox } from "../../encryption/secret-box.ts";
import { AppError } from "../../errors.ts";
import type { IdempotencyKey, IdempotencyOutcome, IdempotencyStore, KeptAnswer } from "./idempotency.ts";

export type IdempotencyStoreOptions = {
  sql: Sql;
  clock: Clock;
  /** Answers can hold secrets shown only once. */
  secretBox: SecretBox;
};

const keepMs = 24 * 3600 * 1000;
/** A process that died while answering blocks its key no longer than this. */
const claimMs = 2 * 60 * 1000;

/** Keeps the answers in the database, for a day. */
export class DatabaseIdempotency implements IdempotencyStore {
  readonly #options: IdempotencyStoreOptions;

  constructor(options: IdempotencyStoreOptions) {
    this.#options = options;
  }

  async claim(key: IdempotencyKey): Promise<IdempotencyOutcome> {
    // The owner of the row can delete it between the two statements; then we may try again.
    for (let attempt = 0; attempt < 3; attempt++) {
      const outcome = await this.#tryClaim(key);
      if (outcome) return outcome;
    }
    return { state: "in_progress" };
  }

  async keep(key: IdempotencyKey, claimId: string, answer: KeptAnswer): Promise<void> {
    const { secretBox, sql } = this.#options;
    const sealed = secretBox.seal(JSON.stringify(answer), contextOf(key));
    const result = await raw`
        update idempotency_keys set answer = ${sealed}
        where workspace_id = ${key.workspaceId} and operation = ${key.operation} and key = ${key.key}
          and claim_id = ${claimId}`.execute(sql);
    if (result.numAffectedRows !== 1n) {
      throw new AppError({
        code: "request.claim_lost",
        kind: "conflict",
        message: "Another request took over this Idempotency-Key meanwhile.",
      });
    }
  }

  async release(key: IdempotencyKey, claimId: string): Promise<void> {
    await raw`
        delete from idempotency_keys
        where workspace_id = ${key.workspaceId} and operation = ${key.operation} and key = ${key.key}
          and claim_id = ${claimId}`.execute(this.#options.sql);
  }

  async #tryClaim(key: IdempotencyKey): Promise<IdempotencyOutcome | undefined> {
    const { clock, sql, secretBox } = this.#options;
    const claimId = randomUUID();
    const now = clock.now();
    const claimedUntil = new Date(now.getTime() + claimMs);
    const expiresAt = new Date(now.getTime() + keepMs);
    const claimed = await raw<{ claim_id: string }>`
      insert into idempotency_keys
        (workspace_id, operation, key, request_hash, claim_id, claimed_until, expires_at)
      values (${key.workspaceId}, ${key.operation}, ${key.key}, ${key.requestHash}, ${claimId}, ${claimedUntil}, ${expiresAt})
      on conflict (workspace_id, operation, key) do update set
        request_hash = excluded.request_hash, claim_id = excluded.claim_id,
        claimed_until = excluded.claimed_until, expires_at = excluded.expires_at, answer = null
      where idempotency_keys.expires_at <= ${now}
         or (idempotency_keys.answer is null and idempotency_keys.claimed_until <= ${now})
      returning claim_id`.execute(sql);
    if (claimed.rows.length > 0) return { state: "claimed", claimId };
    const known = await raw<{ request_hash: string; answer: string | null }>`
      select request_hash, answer from idempotency_keys
      where workspace_id = ${key.workspaceId} and operation = ${key.operation} and key = ${key.key}`.execute(
      sql,
    );
    const [row] = known.rows;
    if (!row) return undefined;
    if (row.request_hash !== key.requestHash) return { state: "other_request" };
    if (row.answer === null) return { state: "in_progress" };
    return { state: "kept", answer: JSON.parse(secretBox.open(row.answer, contextOf(key))) as KeptAnswer };
  }
}

export const idempotencySealedColumns: readonly SealedColumn[] = [
  {
    table: "idempotency_keys",
    idColumns: ["workspace_id", "operation", "key"],
    column: "answer",
    context: (workspaceId, operation, key) => contextOf({ workspaceId, operation, key }),
  },
];

/**
 * Deletes what is past its day, a limited number at a time. Returns how many. By their place on disk: a join may read all
 * keys for each of the batches.
 */
export async function deleteExpiredKeys(sql: Sql, now: Date, limit = 1000): Promise<number> {
  const result = await raw`
    delete from idempotency_keys where ctid = any(array(
      select ctid from idempotency_keys where expires_at <= ${now}
      order by expires_at limit ${limit} for update skip locked
    ))`.execute(sql);
  return Number(result.numAffectedRows ?? 0n);
}

function contextOf(key: Omit<IdempotencyKey, "requestHash">): string {
  return `idempotency:${key.workspaceId}:${key.operation}:${key.key}`;
}
