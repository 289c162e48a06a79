import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError, invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/logger.ts";
import { DnsFailed, type TxtRecords } from "../../platform/network/dns-records.ts";
import type { OwnDeployments } from "../desired-state/caller-access.ts";
import { lockDeployment } from "../desired-state/deployment-store.ts";
import {
  type Domain,
  judgeRecords,
  maxChecksPerMinute,
  maxDomainsOfDeployment,
  maxVerifiedDomains,
  pendingMs,
  proofOf,
  type ReservedHosts,
  readDomain,
  reservedProblem,
} from "./domain.ts";
import { nextCheckAt } from "./domain-recheck.ts";
import type { DomainRecheckService } from "./domain-recheck-service.ts";
import { countCheck } from "./domain-recheck-store.ts";
import * as store from "./domain-store.ts";
import type { DomainTable } from "./domain-table.ts";

export type DomainServiceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  deployments: OwnDeployments;
  table: DomainTable;
  rechecks: DomainRecheckService;
  /** Null where the operator has turned the check off: then the first to ask has a domain. */
  txtRecords: TxtRecords | null;
  reserved(): ReservedHosts;
};

/** Domains of deployments: who asked for which, and who has proved it. */
export class DomainService {
  readonly #options: DomainServiceOptions;

  constructor(options: DomainServiceOptions) {
    this.#options = options;
  }

  async list(caller: Caller, deploymentId: string): Promise<Domain[]> {
    const { database, clock, deployments } = this.#options;
    await deployments.load(caller, deploymentId);
    return store.listDomains(database.sql, caller.workspaceId, deploymentId, clock.now());
  }

  async add(caller: Caller, deploymentId: string, given: string): Promise<Domain> {
    const { database, clock, deployments, reserved } = this.#options;
    const { workspaceId } = caller;
    const { preview_of } = await deployments.load(caller, deploymentId);
    if (preview_of !== null) throw refused("A preview has no domains: it is removed with its pull request.");
    const domain = domainIn(given);
    const problem = reservedProblem(domain, reserved());
    if (problem !== null) throw wrong(`${domain} ${problem}`, given);
    await this.#countCheck(caller);
    const now = clock.now();
    await database.transaction(async (tx) => {
      // It may be gone by now.
      if (!(await lockDeployment(tx, workspaceId, deploymentId)))
        await deployments.load(caller, deploymentId);
      await store.deleteExpiredDomains(tx, now, deploymentId);
      const has = await store.listDomains(tx, workspaceId, deploymentId, now);
      if (has.length >= maxDomainsOfDeployment)
        throw refused(`A deployment has at most ${maxDomainsOfDeployment} domains. Remove one first.`);
      const expiresAt = new Date(now.getTime() + pendingMs);
      const row = { workspace_id: workspaceId, deployment_id: deploymentId, domain };
      if (!(await store.insertDomain(tx, { ...row, id: newId(), expires_at: expiresAt, created_at: now })))
        throw conflict("domain.exists", `The deployment has the domain ${domain} already.`);
      if (this.#options.txtRecords === null) await this.#takeUnchecked(tx, await this.#find(tx, caller, row));
    });
    const added = await this.#find(database.sql, caller, { deployment_id: deploymentId, domain });
    return added.verified_at === null ? this.#check(caller, added) : this.#inForce(caller, added);
  }

  /** Looks for the proof. A verified domain stays verified: only the checks by time take that away. */
  async check(caller: Caller, deploymentId: string, given: string): Promise<Domain> {
    const { database, deployments } = this.#options;
    await deployments.load(caller, deploymentId);
    const row = { deployment_id: deploymentId, domain: domainIn(given, "params") };
    const found = await this.#find(database.sql, caller, row);
    if (this.#options.txtRecords !== null) {
      await this.#countCheck(caller);
      if (found.verified_at === null) return this.#check(caller, found);
      await this.#options.rechecks.recheck(found, { counts: false });
      return this.#find(database.sql, caller, row);
    }
    if (found.verified_at !== null) return found;
    await database.transaction(async (tx) => this.#takeUnchecked(tx, found));
    return this.#inForce(caller, found);
  }

  async remove(caller: Caller, deploymentId: string, given: string): Promise<void> {
    const { database, deployments, table } = this.#options;
    await deployments.load(caller, deploymentId);
    const domain = domainIn(given, "params");
    await database.transaction(async (tx) => {
      if (!(await store.deleteDomain(tx, caller.workspaceId, deploymentId, domain))) throw notFound(domain);
    });
    await table.refresh(domain);
  }

  async removeExpired(): Promise<void> {
    await store.deleteExpiredDomains(this.#options.database.sql, this.#options.clock.now());
  }

  async #countCheck({ workspaceId }: Caller): Promise<void> {
    if (this.#options.txtRecords === null) return;
    const { checks, endsInSeconds } = await countCheck(this.#options.database.sql, workspaceId);
    if (checks > maxChecksPerMinute) throw tooManyChecks(endsInSeconds);
  }

  async #check(caller: Caller, claim: Domain): Promise<Domain> {
    const { database, clock, logger } = this.#options;
    const { name } = proofOf(claim);
    const records = await this.#options.txtRecords!(name).catch((error: unknown) => {
      if (!(error instanceof DnsFailed)) throw error;
      logger.info({ name, err: error }, "a domain could not be checked");
      return null;
    });
    const loser = await database.transaction(async (tx) => {
      await store.lockDomain(tx, claim.domain);
      if (!(await store.lockClaim(tx, claim))) throw notFound(claim.domain);
      const now = clock.now();
      const holder = await store.findHolder(tx, claim.domain);
      const problem =
        records === null
          ? "dns_failed"
          : judgeRecords(records, claim.deployment_id, holder?.deployment_id ?? null);
      if (problem !== null) {
        await store.saveProblem(tx, claim.id, problem, now);
        return undefined;
      }
      if (holder?.id === claim.id) return undefined;
      // Its owner has published another proof since.
      const lost = {
        problem: "claimed_elsewhere",
        now,
        expiresAt: new Date(now.getTime() + pendingMs),
      } as const;
      if (holder) await store.saveLost(tx, holder, lost);
      else await refuseMore(tx);
      await this.#saveVerified(tx, claim);
      return holder;
    });
    if (loser) await this.#options.rechecks.tellLost(loser, "claimed_elsewhere");
    return this.#inForce(caller, claim);
  }

  /** Without a check, the first deployment that adds a domain has it, and no other can take it. */
  async #takeUnchecked(tx: Sql, claim: Domain): Promise<void> {
    await store.lockDomain(tx, claim.domain);
    if (!(await store.lockClaim(tx, claim))) throw notFound(claim.domain);
    const holder = await store.findHolder(tx, claim.domain);
    if (holder?.id === claim.id) return;
    if (holder) throw conflict("domain.taken", `Another deployment has the domain ${claim.domain}.`);
    await refuseMore(tx);
    await this.#saveVerified(tx, claim);
  }

  async #saveVerified(tx: Sql, claim: Domain): Promise<void> {
    const now = this.#options.clock.now();
    await store.saveVerified(tx, claim, { now, nextCheckAt: nextCheckAt(now, Math.random()) });
  }

  /** In this process before the answer goes out; in others when they are notified. */
  async #inForce(caller: Caller, claim: Domain): Promise<Domain> {
    await this.#options.table.refresh(claim.domain);
    return this.#find(this.#options.database.sql, caller, claim);
  }

  async #find(
    sql: Sql,
    { workspaceId }: Caller,
    { deployment_id, domain }: Pick<Domain, "deployment_id" | "domain">,
  ): Promise<Domain> {
    const now = this.#options.clock.now();
    const found = await store.findDomain(sql, workspaceId, deployment_id, domain, now);
    if (!found) throw notFound(domain);
    return found;
  }
}

function domainIn(given: string, place: "body" | "params" = "body"): string {
  const read = readDomain(given);
  if ("domain" in read) return read.domain;
  // A name that is not a valid domain cannot have been added.
  throw place === "params" ? notFound(given) : wrong(`domain ${read.problem}`, given);
}

function wrong(message: string, given: string): AppError {
  return invalidField(["body", "domain"], message, given);
}

async function refuseMore(tx: Sql): Promise<void> {
  if ((await store.countVerified(tx)) < maxVerifiedDomains) return;
  throw refused(`This installation serves ${maxVerifiedDomains} domains, and no more. Remove one first.`);
}

function tooManyChecks(endsInSeconds: number): AppError {
  const seconds = Math.max(1, Math.ceil(endsInSeconds));
  return new AppError({
    code: "domain.too_many_checks",
    kind: "rate_limited",
    message: `The workspace checks at most ${maxChecksPerMinute} domains a minute. Try again in ${seconds} seconds.`,
    headers: { "retry-after": String(seconds) },
  });
}

function refused(message: string): AppError {
  return new AppError({ code: "domain.refused", kind: "invalid", message });
}

function conflict(code: "domain.exists" | "domain.taken", message: string): AppError {
  return new AppError({ code, kind: "conflict", message });
}

function notFound(domain: string): AppError {
  return new AppError({
    code: "domain.not_found",
    kind: "not_found",
    message: `The deployment has no domain ${domain.slice(0, 253)}. One that is not verified within seven days is removed.`,
  });
}
