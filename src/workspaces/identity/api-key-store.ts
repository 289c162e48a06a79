import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Role } from "../../platform/http/access/caller.ts";
import type { Scope } from "../../platform/http/access/scope.ts";
import { type ApiKey, generatedStart, type KeyIdentity } from "./api-key.ts";

const identityColumns = `
  select k.id, k.hash, k.organization_id, k.user_id, k.role, k.workspace_id, k.expires_at, k.scopes, k.tracing_project,
    k.created_by, coalesce(case when k.user_id is null then (
      select jsonb_agg(jsonb_build_object('workspace_id', w.id, 'role', k.role))
      from workspaces w where w.id = k.workspace_id and w.deleted_at is null
    ) else (
      select jsonb_agg(jsonb_build_object('workspace_id', m.workspace_id, 'role', m.role)
        order by w.created_at, w.id)
      from memberships m join workspaces w on w.id = m.workspace_id
      where m.user_id = k.user_id and w.organization_id = k.organization_id and w.deleted_at is null
        and (k.workspace_id is null or k.workspace_id = m.workspace_id)
    ) end, '[]'::jsonb) as memberships
  from api_keys k
  where k.revoked_at is null`;
export const identityByHash: Statement = {
  name: "key_identity_by_hash_v2",
  text: `${identityColumns} and k.hash = $1`,
};
export const identityById: Statement = {
  name: "key_identity_by_id_v2",
  text: `${identityColumns} and k.id = $1`,
};

export async function findIdentityByHash(database: Database, hash: string): Promise<KeyIdentity | undefined> {
  const [row] = await database.query<KeyIdentity>(identityByHash, [hash]);
  return row;
}

export async function findIdentityById(database: Database, id: string): Promise<KeyIdentity | undefined> {
  const [row] = await database.query<KeyIdentity>(identityById, [id]);
  return row;
}

export const hashKnown: Statement = {
  name: "key_hash_known_v1",
  text: "select 1 from api_keys where hash = $1",
};

/** Also of keys that were revoked. */
export async function isKnownHash(database: Database, hash: string): Promise<boolean> {
  return (await database.query(hashKnown, [hash])).length > 0;
}

/** Whether there ever was a key that does not begin as generated ones do, so far as the database knows their beginnings. */
export async function hasChosenKeys(sql: Sql): Promise<boolean> {
  const { rows } = await raw<{ found: boolean }>`
    select exists (select 1 from api_keys where not starts_with(prefix, ${generatedStart})) as found`.execute(
    sql,
  );
  return rows[0]!.found;
}

export type NewApiKey = {
  id: string;
  organizationId: string;
  userId: string | null;
  workspaceId: string | null;
  name: string;
  prefix: string;
  hash: string;
  role: Role;
  scopes?: readonly Scope[] | null;
  tracingProject?: string | null;
  /** Null: the maker is not known. */
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  managed?: boolean;
};

/** Undefined when the same key is already stored. */
export async function insertApiKey(sql: Sql, key: NewApiKey): Promise<ApiKey | undefined> {
  const { rows } = await raw<ApiKey>`
    insert into api_keys (id, organization_id, user_id, workspace_id, name, prefix, hash, role, created_at, expires_at,
      managed, scopes, tracing_project, created_by)
    values (${key.id}, ${key.organizationId}, ${key.userId}, ${key.workspaceId}, ${key.name}, ${key.prefix},
      ${key.hash}, ${key.role}, ${key.createdAt}, ${key.expiresAt}, ${key.managed ?? false},
      ${key.scopes ?? null}, ${key.tracingProject ?? null}, ${key.createdBy})
    on conflict (hash) do nothing
    returning ${shownColumns}`.execute(sql);
  return rows[0];
}

const shownColumns = raw.raw(
  `id, organization_id, user_id, workspace_id, name, prefix, role, scopes, tracing_project, created_by, created_at,
   last_used_at, expires_at, managed`,
);

/** The keys that open this workspace: its own, and those of its members that open all of theirs. */
const opensWorkspace = (workspaceId: string) => raw`
  k.revoked_at is null and (k.workspace_id = ${workspaceId} or (k.workspace_id is null and exists (
    select 1 from memberships m where m.user_id = k.user_id and m.workspace_id = ${workspaceId})))`;

export async function listApiKeys(
  sql: Sql,
  scope: { workspaceId: string; userId: string | null },
  page: { limit: number; offset: number; include_managed?: boolean | undefined },
): Promise<ApiKey[]> {
  const { rows } = await raw<ApiKey>`
    select ${shownColumns} from api_keys k
    where ${opensWorkspace(scope.workspaceId)} and (${scope.userId}::uuid is null or k.user_id = ${scope.userId})
      and (${page.include_managed ?? false}::boolean or not k.managed)
    order by k.created_at desc, k.id desc limit ${page.limit} offset ${page.offset}`.execute(sql);
  return rows;
}

export async function findApiKey(sql: Sql, workspaceId: string, id: string): Promise<ApiKey | undefined> {
  const { rows } = await raw<ApiKey>`
    select ${shownColumns} from api_keys k
    where k.id = ${id} and ${opensWorkspace(workspaceId)}`.execute(sql);
  return rows[0];
}

export async function revokeApiKey(sql: Sql, id: string, now: Date): Promise<void> {
  await raw`update api_keys set revoked_at = ${now} where id = ${id} and revoked_at is null`.execute(sql);
}

/** The keys of one user that open this workspace only. */
export async function revokeMemberKeys(
  sql: Sql,
  workspaceId: string,
  userId: string,
  now: Date,
): Promise<void> {
  await raw`update api_keys set revoked_at = ${now}
    where workspace_id = ${workspaceId} and user_id = ${userId} and revoked_at is null`.execute(sql);
}

/** Whether the user has workspaces in which `adminId` is not an admin. */
export async function reachesBeyondAdmin(sql: Sql, userId: string, adminId: string): Promise<boolean> {
  const { rows } = await raw`
    select 1 from memberships m join workspaces w on w.id = m.workspace_id
    where m.user_id = ${userId} and w.deleted_at is null and not exists (
      select 1 from memberships a
      where a.workspace_id = m.workspace_id and a.user_id = ${adminId} and a.role = 'admin')
    limit 1`.execute(sql);
  return rows.length > 0;
}

/** The workspaces of the organization that at least one usable key opens as admin. */
export async function workspacesWithAdminKey(sql: Sql, organizationId: string, now: Date): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select w.id from workspaces w
    where w.organization_id = ${organizationId} and w.deleted_at is null and exists (
      select 1 from memberships m join api_keys k on k.user_id = m.user_id
      where m.workspace_id = w.id and m.role = 'admin' and k.role = 'admin' and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > ${now}) and (k.scopes is null or 'admin' = any (k.scopes))
        and (k.workspace_id is null or k.workspace_id = w.id))`.execute(sql);
  return rows.map((row) => row.id);
}

export const touchStatement: Statement = {
  name: "touch_api_key_v1",
  text: `update api_keys set last_used_at = $2
    where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`,
};

/** Writes at most once a minute per key, however many processes see it. */
export async function touchApiKey(database: Database, id: string, now: Date): Promise<void> {
  await database.query(touchStatement, [id, now]);
}

export type KeyState = "unknown" | "active" | "revoked" | "expired";

export async function findKeyState(sql: Sql, hash: string, now: Date): Promise<KeyState> {
  const { rows } = await raw<{ state: KeyState }>`
    select case when revoked_at is not null then 'revoked' when expires_at <= ${now} then 'expired' else 'active' end
      as state
    from api_keys where hash = ${hash}`.execute(sql);
  return rows[0]?.state ?? "unknown";
}
