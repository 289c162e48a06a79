import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";

export type SignInCode = { id: string; organization_id: string; user_id: string };

export type NewCode = {
  id: string;
  hash: string;
  organizationId: string;
  userId: string;
  /** The workspace of an invitation; null: a link of the operator's. */
  invitedTo: string | null;
  now: Date;
  expiresAt: Date;
};

/**
 * Who an invitation may sign in: a user who never signed in and is in that workspace alone. The inviter knows the link,
 * so it must not give access to anything of another person.
 */
const mayBeInvited = (userId: RawBuilder<unknown>, workspaceId: RawBuilder<unknown>) => raw`(
  exists (select 1 from users u where u.id = ${userId} and u.signed_in_at is null)
  and (select array_agg(m.workspace_id) from memberships m where m.user_id = ${userId}) = array[${workspaceId}]::uuid[])`;

const stillGood = raw`(c.invited_to is null or ${mayBeInvited(raw`c.user_id`, raw`c.invited_to`)})`;

export async function isInvitable(sql: Sql, userId: string, workspaceId: string): Promise<boolean> {
  const { rows } = await raw<{ may: boolean }>`
    select ${mayBeInvited(raw`${userId}::uuid`, raw`${workspaceId}::uuid`)} as may`.execute(sql);
  return rows[0]?.may === true;
}

/** Earlier invitations of the same person end. */
export async function deleteInvitations(sql: Sql, userId: string): Promise<void> {
  await raw`delete from sign_in_codes where user_id = ${userId} and invited_to is not null`.execute(sql);
}

export async function insertCode(sql: Sql, code: NewCode): Promise<void> {
  await raw`
    insert into sign_in_codes (id, hash, organization_id, user_id, invited_to, created_at, expires_at)
    values (${code.id}, ${code.hash}, ${code.organizationId}, ${code.userId}, ${code.invitedTo}, ${code.now},
      ${code.expiresAt})`.execute(sql);
}

/** Whom the code signs in, without using it up. */
export async function findCode(sql: Sql, hash: string, now: Date): Promise<SignInCode | undefined> {
  const { rows } = await raw<SignInCode>`
    select id, organization_id, user_id from sign_in_codes c
    where hash = ${hash} and used_at is null and expires_at > ${now} and ${stillGood}`.execute(sql);
  return rows[0];
}

/** False when another request was quicker. */
export async function markCodeUsed(sql: Sql, id: string, now: Date): Promise<boolean> {
  const { rows } = await raw`
    update sign_in_codes c set used_at = ${now}
    where id = ${id} and used_at is null and expires_at > ${now} and ${stillGood} returning id`.execute(sql);
  return rows.length > 0;
}

export async function deleteOldCodes(sql: Sql, before: Date): Promise<void> {
  await raw`delete from sign_in_codes where expires_at < ${before}`.execute(sql);
}
