import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { KeyIdentity } from "../identity/api-key.ts";
import type { ConsoleSession, SignInMethod } from "./console-session.ts";

const columnNames = `id, organization_id, user_id, workspace_id, api_key_id, method, user_agent, address, created_at,
  last_seen_at, idle_expires_at, expires_at`;
const columns = raw.raw(columnNames);

export const byHash: Statement = {
  name: "console_session_by_hash_v1",
  text: `select ${columnNames} from console_sessions where hash = $1 and revoked_at is null`,
};
export const byId: Statement = {
  name: "console_session_by_id_v1",
  text: `select ${columnNames} from console_sessions where id = $1 and revoked_at is null`,
};

export async function findSessionByHash(
  database: Database,
  hash: string,
): Promise<ConsoleSession | undefined> {
  const [row] = await database.query<ConsoleSession>(byHash, [hash]);
  return row;
}

export async function findSessionById(database: Database, id: string): Promise<ConsoleSession | undefined> {
  const [row] = await database.query<ConsoleSession>(byId, [id]);
  return row;
}

export async function insertSession(
  sql: Sql,
  session: {
    id: string;
    hash: string;
    organizationId: string;
    userId: string;
    workspaceId: string | null;
    apiKeyId: string | null;
    method: SignInMethod;
    userAgent: string;
    address: string | null;
    now: Date;
    idleExpiresAt: Date;
    expiresAt: Date;
  },
): Promise<ConsoleSession> {
  await raw`update users set signed_in_at = ${session.now}
    where id = ${session.userId} and signed_in_at is null`.execute(sql);
  const { rows } = await raw<ConsoleSession>`
    insert into console_sessions (id, hash, organization_id, user_id, workspace_id, api_key_id, method, user_agent,
      address, created_at, last_seen_at, idle_expires_at, expires_at)
    values (${session.id}, ${session.hash}, ${session.organizationId}, ${session.userId}, ${session.workspaceId},
      ${session.apiKeyId}, ${session.method}, ${session.userAgent}, ${session.address}, ${session.now}, ${session.now},
      ${session.idleExpiresAt}, ${session.expiresAt})
    returning ${columns}`.execute(sql);
  return rows[0]!;
}

/** Those that still open something: a revoked or expired key has ended its sessions. */
export async function listSessions(sql: Sql, userId: string, now: Date): Promise<ConsoleSession[]> {
  const { rows } = await raw<ConsoleSession>`
    select ${columns} from console_sessions s
    where s.user_id = ${userId} and s.revoked_at is null and s.idle_expires_at > ${now} and s.expires_at > ${now}
      and (s.api_key_id is null or exists (
        select 1 from api_keys k where k.id = s.api_key_id and k.revoked_at is null))
    order by s.last_seen_at desc, s.id desc limit 100`.execute(sql);
  return rows;
}

/** False when this user has no such session, or it has ended already. */
export async function revokeSession(sql: Sql, id: string, userId: string, now: Date): Promise<boolean> {
  const { rows } = await raw`
    update console_sessions set revoked_at = ${now}
    where id = ${id} and user_id = ${userId} and revoked_at is null returning id`.execute(sql);
  return rows.length > 0;
}

/** All sessions of a user but one; how many there were. */
export async function revokeUserSessions(
  sql: Sql,
  userId: string,
  now: Date,
  exceptId: string | null = null,
): Promise<number> {
  const { rows } = await raw`
    update console_sessions set revoked_at = ${now}
    where user_id = ${userId} and revoked_at is null and id is distinct from ${exceptId}::uuid returning id`.execute(
    sql,
  );
  return rows.length;
}

/** Makes room: all but the newest `keep`. */
export async function revokeOldest(sql: Sql, userId: string, keep: number, now: Date): Promise<void> {
  await raw`
    update console_sessions set revoked_at = ${now} where id in (
      select id from console_sessions where user_id = ${userId} and revoked_at is null
      order by created_at desc, id desc offset ${keep})`.execute(sql);
}

export async function saveSessionWorkspace(sql: Sql, id: string, workspaceId: string): Promise<void> {
  await raw`update console_sessions set workspace_id = ${workspaceId} where id = ${id}`.execute(sql);
}

export const touchStatement: Statement = {
  name: "touch_console_session_v1",
  text: `update console_sessions set last_seen_at = $2, idle_expires_at = least($3::timestamptz, expires_at)
    where id = $1 and revoked_at is null and last_seen_at < $2::timestamptz - interval '1 minute'`,
};

/** Writes at most once a minute per session, however many processes see it. */
export async function touchSession(database: Database, id: string, now: Date, idleEnd: Date): Promise<void> {
  await database.query(touchStatement, [id, now, idleEnd]);
}

const pruneBatch = 1_000;

/** Ended before this time; in batches, so that no statement holds many rows. */
export async function deleteEnded(sql: Sql, before: Date): Promise<number> {
  const { rows } = await raw`
    delete from console_sessions where id = any(array(
      select id from console_sessions
      where least(idle_expires_at, expires_at) < ${before} limit ${pruneBatch})) returning id`.execute(sql);
  return rows.length;
}

export const personStatement: Statement = {
  name: "person_identity_v1",
  text: `select u.id as user_id, u.organization_id,
    coalesce((
      select jsonb_agg(jsonb_build_object('workspace_id', m.workspace_id, 'role', m.role) order by w.created_at, w.id)
      from memberships m join workspaces w on w.id = m.workspace_id
      where m.user_id = u.id and w.organization_id = u.organization_id and w.deleted_at is null
    ), '[]'::jsonb) as memberships
  from users u where u.id = $1`,
};

export type Person = Pick<KeyIdentity, "user_id" | "organization_id" | "memberships">;

/** A user as such, not limited by any key. */
export async function findPerson(database: Database, userId: string): Promise<Person | undefined> {
  const [row] = await database.query<Person>(personStatement, [userId]);
  return row;
}

export type SignedInUser = { id: string; email: string; name: string };

export async function findUser(sql: Sql, userId: string): Promise<SignedInUser | undefined> {
  const { rows } = await raw<SignedInUser>`select id, email, name from users where id = ${userId}`.execute(
    sql,
  );
  return rows[0];
}
