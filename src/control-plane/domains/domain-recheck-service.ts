import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { AuditSink } from "../../platform/http/audit/audit.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { Logger } from "../../platform/logger.ts";
import { DnsFailed, type TxtRecords } from "../../platform/network/dns-records.ts";
import { type Domain, judgeRecords, pendingMs, proofOf } from "./domain.ts";
import { afterMiss, nextCheckAt, recheckBatch, recheckConcurrency } from "./domain-recheck.ts";
import * as rechecks from "./domain-recheck-store.ts";
import * as store from "./domain-store.ts";
import type { DomainTable } from "./domain-table.ts";

export const recheckJob = "control_plane.recheck_domains";

export type DomainRecheckOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  table: DomainTable;
  /** Null where the operator has turned the check off. */
  txtRecords: TxtRecords | null;
  audit?: Pick<AuditSink, "recordOwn"> | undefined;
};

/** Looks for the proofs of verified domains again. A domain whose proof is gone for a day is not verified any more. */
export class DomainRecheckService {
  readonly #options: DomainRecheckOptions;

  constructor(options: DomainRecheckOptions) {
    this.#options = options;
  }

  /** Queues the job when a check is due. Without domains that is one look into an empty index. */
  async queueDue(): Promise<void> {
    const { database, clock, txtRecords } = this.#options;
    if (txtRecords === null || !(await rechecks.hasDue(database.sql, clock.now()))) return;
    await enqueue(database.sql, { kind: recheckJob, idempotencyKey: "due" });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { database, clock, txtRecords } = this.#options;
    if (txtRecords === null) return;
    const due = (await rechecks.listDue(database.sql, clock.now(), recheckBatch)).values();
    const work = async () => {
      for (const domain of due) {
        signal.throwIfAborted();
        await this.recheck(domain, { counts: true });
      }
    };
    await Promise.all(Array.from({ length: recheckConcurrency }, work));
  }

  /**
   * `counts`: whether a missing proof brings the domain nearer to its loss. When a person looks, it does not, and the next
   * check that counts comes no later for it.
   */
  async recheck(domain: Domain, { counts }: { counts: boolean }): Promise<void> {
    const { database, clock, logger } = this.#options;
    const { name } = proofOf(domain);
    const records = await this.#options.txtRecords!(name).catch((error: unknown) => {
      if (!(error instanceof DnsFailed)) throw error;
      logger.info({ name, err: error }, "a verified domain could not be checked");
      return null;
    });
    const now = clock.now();
    const next = { now, nextCheckAt: nextCheckAt(now, Math.random()) };
    const isLost = await database.transaction(async (tx) => {
      await store.lockDomain(tx, domain.domain);
      const row = await store.lockClaim(tx, domain);
      if (!row || row.verified_at === null) return false;
      if (records === null) {
        if (counts) await rechecks.savePostponed(tx, row.id, next.nextCheckAt);
        return false;
      }
      const problem = judgeRecords(records, row.deployment_id, row.deployment_id);
      if (problem === null) {
        await rechecks.saveFound(tx, row.id, next);
        return false;
      }
      const missed = afterMiss(row, now);
      if (counts && missed.isLost) {
        const expiresAt = new Date(now.getTime() + pendingMs);
        await store.saveLost(tx, row, { problem: "record_gone", now, expiresAt });
        return true;
      }
      const kept = { missedChecks: row.missed_checks, nextCheckAt: row.next_check_at };
      await rechecks.saveMissed(tx, row.id, { ...next, ...missed, problem, ...(!counts && kept) });
      return false;
    });
    if (isLost) await this.tellLost(domain, "record_gone");
  }

  /** In force here at once, and in the audit log of the workspace that had it. */
  async tellLost(domain: Domain, reason: "record_gone" | "claimed_elsewhere"): Promise<void> {
    const { table, logger, audit } = this.#options;
    await table.refresh(domain.domain);
    const { workspace_id, deployment_id } = domain;
    logger.warn({ domain: domain.domain, deployment_id, reason }, "a domain lost its verification");
    await audit?.recordOwn({
      action: "deployment.domain_lost",
      workspaceId: workspace_id,
      target: { kind: "deployment", id: deployment_id },
      details: { domain: domain.domain, reason },
    });
  }
}
