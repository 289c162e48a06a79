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
  maxDomainsOfDeployment,
  maxVerifiedDomains,
  pendingMs,
  proofOf,
  type ReservedHosts,
  readDomain,
  reservedProblem,
} from "./domain.ts";
import * as store from "./domain-store.ts";
import type { DomainTable } from "./domain-table.ts";

export type DomainServiceOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  deployments: OwnDeployments;
  table: DomainTable;
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

  /** Looks for the proof. A verified domain stays verified, whatever became of the record. */
  async check(caller: Caller, deploymentId: string, given: string): Promise<Domain> {
    const { database, deployments } = this.#options;
    await deployments.load(caller, deploymentId);
    const row = { deployment_id: deploymentId, domain: domainIn(given, "params") };
    const found = await this.#find(database.sql, caller, row);
    if (found.verified_at !== null) return found;
    if (this.#options.txtRecords !== null) return this.#check(caller, found);
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

  async #check(caller: Caller, claim: Domain): Promise<Domain> {
    const { database, clock, logger } = this.#options;
    const { name } = proofOf(claim);
    const records = await this.#options.txtRecords!(name).catch((error: unknown) => {
      if (!(error instanceof DnsFailed)) throw error;
      logger.info({ name, err: error }, "a domain could not be checked");
      return null;
    });
    await database.transaction(async (tx) => {
      await store.lockDomain(tx, claim.domain);
      if (!(await store.lockClaim(tx, claim))) throw notFound(claim.domain);
      const now = clock.now();
      const holder = await store.findHolder(tx, claim.domain);
      const problem =
        records === null
          ? "dns_failed"
          : judgeRecords(records, claim.deployment_id, holder?.deployment_id ?? null);
      if (problem !== null) return store.saveProblem(tx, claim.id, problem, now);
      if (holder?.id === claim.id) return;
      // Its owner has published another proof since.
      if (holder) await store.saveLost(tx, holder, new Date(now.getTime() + pendingMs));
      else await refuseMore(tx);
      await store.saveVerified(tx, claim, now);
    });
    return this.#inForce(caller, claim);
  }

  /** Without a check the first has it, and nobody takes it from them. */
  async #takeUnchecked(tx: Sql, claim: Domain): Promise<void> {
    await store.lockDomain(tx, claim.domain);
    if (!(await store.lockClaim(tx, claim))) throw notFound(claim.domain);
    const holder = await store.findHolder(tx, claim.domain);
    if (holder?.id === claim.id) return;
    if (holder) throw conflict("domain.taken", `Another deployment has the domain ${claim.domain}.`);
    await refuseMore(tx);
    await store.saveVerified(tx, claim, this.#options.clock.now());
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
  // Nobody can have added one that is not written as a domain is.
  throw place === "params" ? notFound(given) : wrong(`domain ${read.problem}`, given);
}

function wrong(message: string, given: string): AppError {
  return invalidField(["body", "domain"], message, given);
}

async function refuseMore(tx: Sql): Promise<void> {
  if ((await store.countVerified(tx)) < maxVerifiedDomains) return;
  throw refused(`This installation serves ${maxVerifiedDomains} domains, and no more. Remove one first.`);
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
