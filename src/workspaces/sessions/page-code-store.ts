import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type PageCode = {
  workspace_id: string;
  session_id: string;
  deployment_id: string;
  origin: string;
  state_hash: string;
  expires_at: Date;
};

/** Also deletes the session's expired codes, so that the table cannot be filled up. */
export async function insertPageCode(sql: Sql, hash: string, code: PageCode, now: Date): Promise<void> {
  await raw`delete from page_codes where session_id = ${code.session_id} and expires_at <= ${now}`.execute(
    sql,
  );
  await raw`
    insert into page_codes (hash, workspace_id, session_id, deployment_id, origin, state_hash, expires_at)
    values (${hash}, ${code.workspace_id}, ${code.session_id}, ${code.deployment_id}, ${code.origin},
      ${code.state_hash}, ${code.expires_at})`.execute(sql);
}

/** Presenting a code uses it up, also if it is then refused: of two requests at once, one gets it. */
export async function takePageCode(sql: Sql, hash: string): Promise<PageCode | undefined> {
  const { rows } = await raw<PageCode>`
    delete from page_codes where hash = ${hash}
    returning workspace_id, session_id, deployment_id, origin, state_hash, expires_at`.execute(sql);
  return rows[0];
}

export async function deleteOldPageCodes(sql: Sql, now: Date): Promise<void> {
  await raw`delete from page_codes where expires_at <= ${now}`.execute(sql);
}
