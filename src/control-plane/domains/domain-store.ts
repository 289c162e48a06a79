import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { type Domain, type DomainProblem, maxVerifiedDomains } from "./domain.ts";

export const domainChannel = "treadle_domains";

async function announceDomain(sql: Sql, domain: string): Promise<void> {
  await raw`select pg_notify(${domainChannel}, ${domain})`.execute(sql);
}

/** One at a time decides who has a domain. */
export async function lockDomain(tx: Sql, domain: string): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtextextended(${`domain ${domain}`}, 0))`.execute(tx);
}

/** Those that are verified, or may still be. */
export async function listDomains(
  sql: Sql,
  workspaceId: string,
  deploymentId: string,
  now: Date,
): Promise<Domain[]> {
  const { rows } = await raw<Domain>`
    select * from deployment_domains where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}
      and (verified_at is not null or expires_at > ${now}) order by domain`.execute(sql);
  return rows;
}

export async function findDomain(
  sql: Sql,
  workspaceId: string,
  deploymentId: string,
  domain: string,
  now: Date,
): Promise<Domain | undefined> {
  const { rows } = await raw<Domain>`
    select * from deployment_domains where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}
      and domain = ${domain} and (verified_at is not null or expires_at > ${now})`.execute(sql);
  return rows[0];
}

/** Undefined: it was removed meanwhile. */
export async function lockClaim(tx: Sql, { id }: Pick<Domain, "id">): Promise<Domain | undefined> {
  const { rows } = await raw<Domain>`select * from deployment_domains where id = ${id} for update`.execute(
    tx,
  );
  return rows[0];
}

/** The claim that holds the domain, in any workspace. */
export async function findHolder(tx: Sql, domain: string): Promise<Domain | undefined> {
  const { rows } = await raw<Domain>`
    select * from deployment_domains where domain = ${domain} and verified_at is not null`.execute(tx);
  return rows[0];
}

export async function countVerified(tx: Sql): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployment_domains where verified_at is not null`.execute(tx);
  return rows[0]!.count;
}

/** False when the deployment has it already. */
export async function insertDomain(
  tx: Sql,
  row: Pick<Domain, "id" | "workspace_id" | "deployment_id" | "domain" | "expires_at" | "created_at">,
): Promise<boolean> {
  const { rows } = await raw`
    insert into deployment_domains (id, workspace_id, deployment_id, domain, expires_at, created_at)
    values (${row.id}, ${row.workspace_id}, ${row.deployment_id}, ${row.domain}, ${row.expires_at}, ${row.created_at})
    on conflict (deployment_id, domain) do nothing returning id`.execute(tx);
  return rows.length > 0;
}

export async function saveProblem(tx: Sql, id: string, problem: DomainProblem, now: Date): Promise<void> {
  await raw`
    update deployment_domains set problem = ${problem}, checked_at = ${now}
    where id = ${id} and verified_at is null`.execute(tx);
}

export async function saveVerified(
  tx: Sql,
  { id, domain }: Pick<Domain, "id" | "domain">,
  { now, nextCheckAt }: { now: Date; nextCheckAt: Date },
): Promise<void> {
  await raw`
    update deployment_domains set verified_at = ${now}, checked_at = ${now}, problem = null,
      next_check_at = ${nextCheckAt}, missed_checks = 0, missing_since = null
    where id = ${id}`.execute(tx);
  await announceDomain(tx, domain);
}

/** From now on it is a claim like others. */
export async function saveLost(
  tx: Sql,
  { id, domain }: Pick<Domain, "id" | "domain">,
  { problem, now, expiresAt }: { problem: DomainProblem; now: Date; expiresAt: Date },
): Promise<void> {
  await raw`
    update deployment_domains set verified_at = null, problem = ${problem}, checked_at = ${now},
      expires_at = ${expiresAt}, missed_checks = 0, missing_since = null
    where id = ${id}`.execute(tx);
  await announceDomain(tx, domain);
}

export async function deleteDomain(
  tx: Sql,
  workspaceId: string,
  deploymentId: string,
  domain: string,
): Promise<boolean> {
  const { rows } = await raw`
    delete from deployment_domains where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}
      and domain = ${domain} returning id`.execute(tx);
  if (rows.length > 0) await announceDomain(tx, domain);
  return rows.length > 0;
}

/** A deployment that is deleted serves nothing any more; its domains are free at once. */
export async function releaseDomains(tx: Sql, workspaceId: string, deploymentId: string): Promise<void> {
  const { rows } = await raw<{ domain: string }>`
    delete from deployment_domains where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}
    returning domain`.execute(tx);
  for (const { domain } of rows) await announceDomain(tx, domain);
}

export async function deleteExpiredDomains(sql: Sql, now: Date, deploymentId?: string): Promise<void> {
  const where = deploymentId === undefined ? raw`true` : raw`deployment_id = ${deploymentId}`;
  await raw`
    delete from deployment_domains where verified_at is null and expires_at <= ${now} and ${where}`.execute(
    sql,
  );
}

/** Verified domains of these deployments, by deployment. */
export async function readVerified(sql: Sql, deploymentIds: string[]): Promise<Map<string, string[]>> {
  const { rows } = await raw<{ deployment_id: string; domains: string[] }>`
    select deployment_id, array_agg(domain order by verified_at, domain) as domains from deployment_domains
    where deployment_id = any(${deploymentIds}::uuid[]) and verified_at is not null
    group by deployment_id`.execute(sql);
  return new Map(rows.map((row) => [row.deployment_id, row.domains]));
}

export type ServedDomain = { domain: string; slug: string };

/** Which deployment is served at which domain: all of them, or one. */
export async function readServed(sql: Sql, domain?: string): Promise<ServedDomain[]> {
  const { rows } = await raw<ServedDomain>`
    select m.domain, d.slug from deployment_domains m join deployments d on d.id = m.deployment_id
    where m.verified_at is not null and d.deleted_at is null
      and ${domain === undefined ? raw`true` : raw`m.domain = ${domain}`}
    limit ${maxVerifiedDomains}`.execute(sql);
  return rows;
}
