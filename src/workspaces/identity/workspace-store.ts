import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Role } from "../../platform/http/access/caller.ts";
import type { Plan, VisibleWorkspace, Workspace } from "./workspace.ts";

/** What one credential may see: the workspaces of its user, or only the one it is limited to. */
export type Sight = {
  organizationId: string;
  userId: string;
  keyRole: Role;
  /** Always set for a service, which is a member of none. */
  onlyWorkspaceId: string | null;
  isService: boolean;
};

const visible = (sight: Sight) => raw`
  select w.id, w.organization_id, w.name, w.created_at, w.updated_at, coalesce(m.role, ${sight.keyRole}) as role
  from workspaces w left join memberships m on m.workspace_id = w.id and m.user_id = ${sight.userId}
  where (m.user_id is not null or ${sight.isService}::boolean) and w.organization_id = ${sight.organizationId} and w.deleted_at is null
    and (${sight.onlyWorkspaceId}::uuid is null or w.id = ${sight.onlyWorkspaceId})`;

export async function listWorkspaces(
  sql: Sql,
  sight: Sight,
  page: { limit: number; offset: number },
): Promise<VisibleWorkspace[]> {
  const { rows } = await raw<VisibleWorkspace>`
    ${visible(sight)} order by w.created_at, w.id limit ${page.limit} offset ${page.offset}`.execute(sql);
  return rows;
}

export async function findWorkspace(
  sql: Sql,
  sight: Sight,
  id: string,
): Promise<VisibleWorkspace | undefined> {
  const { rows } = await raw<VisibleWorkspace>`${visible(sight)} and w.id = ${id}`.execute(sql);
  return rows[0];
}

const columns = raw.raw("id, organization_id, name, created_at, updated_at");

export async function insertWorkspace(
  sql: Sql,
  workspace: { id: string; organizationId: string; name: string; now: Date },
): Promise<Workspace> {
  const { rows } = await raw<Workspace>`
    insert into workspaces (id, organization_id, name, created_at, updated_at)
    values (${workspace.id}, ${workspace.organizationId}, ${workspace.name}, ${workspace.now}, ${workspace.now})
    returning ${columns}`.execute(sql);
  return rows[0]!;
}

export async function renameWorkspace(sql: Sql, id: string, name: string, now: Date): Promise<void> {
  await raw`update workspaces set name = ${name}, updated_at = ${now} where id = ${id}`.execute(sql);
}

export async function markWorkspaceDeleted(sql: Sql, id: string, now: Date): Promise<void> {
  await raw`update workspaces set deleted_at = ${now} where id = ${id} and deleted_at is null`.execute(sql);
}

export async function restoreWorkspace(sql: Sql, id: string): Promise<void> {
  await raw`update workspaces set deleted_at = null where id = ${id}`.execute(sql);
}

/** Processes that start at once pass here one after another. */
export async function lockBootstrap(sql: Sql): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtext('treadle.bootstrap'))`.execute(sql);
}

/** For the start: by id, in any state and any organization. */
export type StoredWorkspace = { id: string; organization_id: string; name: string; deleted: boolean };

export async function findStoredWorkspace(sql: Sql, id: string): Promise<StoredWorkspace | undefined> {
  const { rows } = await raw<StoredWorkspace>`
    select id, organization_id, name, deleted_at is not null as deleted from workspaces where id = ${id}`.execute(
    sql,
  );
  return rows[0];
}

export async function findFirstWorkspaceId(sql: Sql, organizationId: string): Promise<string | undefined> {
  const { rows } = await raw<{ id: string }>`
    select id from workspaces where organization_id = ${organizationId} and deleted_at is null
    order by created_at, id limit 1`.execute(sql);
  return rows[0]?.id;
}

export async function findFirstOrganizationId(sql: Sql): Promise<string | undefined> {
  const { rows } = await raw<{ id: string }>`
    select id from organizations order by created_at, id limit 1`.execute(sql);
  return rows[0]?.id;
}

export async function insertOrganization(sql: Sql, id: string, name: string, now: Date): Promise<void> {
  await raw`insert into organizations (id, name, created_at) values (${id}, ${name}, ${now})`.execute(sql);
}

/** Changes that must leave an admin behind wait for one another here. */
export async function lockOrganization(sql: Sql, id: string): Promise<void> {
  await raw`select 1 from organizations where id = ${id} for update`.execute(sql);
}

export async function findPlan(sql: Sql, organizationId: string): Promise<Plan | undefined> {
  const { rows } = await raw<{ plan: Plan }>`
    select plan from organizations where id = ${organizationId}`.execute(sql);
  return rows[0]?.plan;
}

export async function savePlan(sql: Sql, organizationId: string, plan: Plan): Promise<boolean> {
  const { rows } = await raw`
    update organizations set plan = ${plan} where id = ${organizationId} returning id`.execute(sql);
  return rows.length > 0;
}
