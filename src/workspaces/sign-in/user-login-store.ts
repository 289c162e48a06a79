import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type UserLogin = { user_id: string; granted_workspace_id: string | null };

export async function findLogin(
  sql: Sql,
  login: { organizationId: string; issuer: string; subject: string },
): Promise<UserLogin | undefined> {
  const { rows } = await raw<UserLogin>`
    select user_id, granted_workspace_id from user_logins
    where organization_id = ${login.organizationId} and issuer = ${login.issuer} and subject = ${login.subject}
    for update`.execute(sql);
  return rows[0];
}

export async function insertLogin(
  sql: Sql,
  login: { organizationId: string; issuer: string; subject: string; userId: string; now: Date },
): Promise<void> {
  await raw`
    insert into user_logins (organization_id, issuer, subject, user_id, created_at, last_used_at)
    values (${login.organizationId}, ${login.issuer}, ${login.subject}, ${login.userId}, ${login.now}, ${login.now})`.execute(
    sql,
  );
}

export async function saveLoginUse(
  sql: Sql,
  login: {
    organizationId: string;
    issuer: string;
    subject: string;
    grantedWorkspaceId: string | null;
    now: Date;
  },
): Promise<void> {
  await raw`
    update user_logins set last_used_at = ${login.now}, granted_workspace_id = ${login.grantedWorkspaceId}
    where organization_id = ${login.organizationId} and issuer = ${login.issuer} and subject = ${login.subject}`.execute(
    sql,
  );
}

export type KnownUser = { id: string; is_bootstrap: boolean; has_login: boolean };

/** The organization's user with this address, and whether somebody at this provider is that user already. */
export async function findUserByEmail(
  sql: Sql,
  by: { organizationId: string; email: string; issuer: string },
): Promise<KnownUser | undefined> {
  const { rows } = await raw<KnownUser>`
    select u.id, u.is_bootstrap,
      exists (select 1 from user_logins l where l.user_id = u.id and l.issuer = ${by.issuer}) as has_login
    from users u where u.organization_id = ${by.organizationId} and lower(u.email) = lower(${by.email})`.execute(
    sql,
  );
  return rows[0];
}

/** One sign-in of a subject at a time: two tabs must not make two users. */
export async function lockSubject(sql: Sql, issuer: string, subject: string): Promise<void> {
  await raw`select pg_advisory_xact_lock(hashtextextended(${`oidc ${issuer} ${subject}`}, 0))`.execute(sql);
}
