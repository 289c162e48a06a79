import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Role } from "../../platform/http/access/caller.ts";
import type { Member } from "./member.ts";

const members = (workspaceId: string) => raw`
  select m.user_id, u.email, u.name, m.role, u.signed_in_at, m.created_at, m.updated_at
  from memberships m join users u on u.id = m.user_id
  where m.workspace_id = ${workspaceId}`;

export async function listMembers(
  sql: Sql,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<Member[]> {
  const { rows } = await raw<Member>`
    ${members(workspaceId)} order by m.created_at, m.user_id limit ${page.limit} offset ${page.offset}`.execute(
    sql,
  );
  return rows;
}

export async function findMember(sql: Sql, workspaceId: string, userId: string): Promise<Member | undefined> {
  const { rows } = await raw<Member>`${members(workspaceId)} and m.user_id = ${userId}`.execute(sql);
  return rows[0];
}

/** Finds the organization's user with this address, or creates one. */
export async function keepUser(
  sql: Sql,
  user: { id: string; organizationId: string; email: string; name: string; now: Date },
): Promise<string> {
  await raw`
    insert into users (id, organization_id, email, name, created_at)
    values (${user.id}, ${user.organizationId}, ${user.email}, ${user.name}, ${user.now})
    on conflict (organization_id, lower(email)) do nothing`.execute(sql);
  const { rows } = await raw<{ id: string }>`
    select id from users where organization_id = ${user.organizationId} and lower(email) = lower(${user.email})`.execute(
    sql,
  );
  return rows[0]!.id;
}

/** The administrator of the first start; created when missing. */
export async function keepBootstrapUser(
  sql: Sql,
  user: { id: string; organizationId: string; email: string; name: string; now: Date },
): Promise<string> {
  const { rows } = await raw<{ id: string }>`
    select id from users where organization_id = ${user.organizationId} and is_bootstrap`.execute(sql);
  if (rows[0]) return rows[0].id;
  await raw`
    insert into users (id, organization_id, email, name, is_bootstrap, created_at)
    values (${user.id}, ${user.organizationId}, ${user.email}, ${user.name}, true, ${user.now})`.execute(sql);
  return user.id;
}

/** False when the user is a member already. */
export async function insertMembership(
  sql: Sql,
  membership: { workspaceId: string; userId: string; role: Role; now: Date },
): Promise<boolean> {
  const { rows } = await raw`
    insert into memberships (workspace_id, user_id, role, created_at, updated_at)
    values (${membership.workspaceId}, ${membership.userId}, ${membership.role}, ${membership.now}, ${membership.now})
    on conflict do nothing returning user_id`.execute(sql);
  return rows.length > 0;
}

export async function saveMemberRole(
  sql: Sql,
  membership: { workspaceId: string; userId: string; role: Role; now: Date },
): Promise<void> {
  await raw`update memberships set role = ${membership.role}, updated_at = ${membership.now}
    where workspace_id = ${membership.workspaceId} and user_id = ${membership.userId}`.execute(sql);
}

export async function deleteMembership(sql: Sql, workspaceId: string, userId: string): Promise<void> {
  await raw`delete from memberships where workspace_id = ${workspaceId} and user_id = ${userId}`.execute(sql);
}

/** Workspaces of the organization that a user administers. */
export async function workspacesWithAdminMember(sql: Sql, organizationId: string): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select w.id from workspaces w
    where w.organization_id = ${organizationId} and w.deleted_at is null and exists (
      select 1 from memberships m where m.workspace_id = w.id and m.role = 'admin')`.execute(sql);
  return rows.map((row) => row.id);
}
