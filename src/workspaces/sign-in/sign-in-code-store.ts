import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type SignInCode = { id: string; organization_id: string; user_id: string };

export async function insertCode(
  sql: Sql,
  code: { id: string; hash: string; organizationId: string; userId: string; now: Date; expiresAt: Date },
): Promise<void> {
  await raw`
    insert into sign_in_codes (id, hash, organization_id, user_id, created_at, expires_at)
    values (${code.id}, ${code.hash}, ${code.organizationId}, ${code.userId}, ${code.now}, ${code.expiresAt})`.execute(
    sql,
  );
}

/** Whose it is, without using it up. */
export async function findCode(sql: Sql, hash: string, now: Date): Promise<SignInCode | undefined> {
  const { rows } = await raw<SignInCode>`
    select id, organization_id, user_id from sign_in_codes
    where hash = ${hash} and used_at is null and expires_at > ${now}`.execute(sql);
  return rows[0];
}

/** False when somebody was quicker. */
export async function markCodeUsed(sql: Sql, id: string, now: Date): Promise<boolean> {
  const { rows } = await raw`
    update sign_in_codes set used_at = ${now}
    where id = ${id} and used_at is null and expires_at > ${now} returning id`.execute(sql);
  return rows.length > 0;
}

export async function deleteOldCodes(sql: Sql, before: Date): Promise<void> {
  await raw`delete from sign_in_codes where expires_at < ${before}`.execute(sql);
}
