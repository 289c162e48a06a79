import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import type { Share } from "./share.ts";

type Conversation = Pick<Share, "workspace_id" | "server" | "thread">;
type Shared = Pick<Share, "token" | "created_at">;

/** Shared again, it keeps its token and shows what there is now. */
export async function upsertShare(sql: Sql, share: Omit<Share, "created_at">): Promise<Shared> {
  const { rows } = await raw<Shared>`
    insert into chat_shares (token, workspace_id, user_id, server, thread, title, messages_json)
    values (${share.token}, ${share.workspace_id}, ${share.user_id}, ${share.server}, ${share.thread},
      ${share.title}, ${share.messages_json})
    on conflict (workspace_id, server, thread) do update
      set title = excluded.title, messages_json = excluded.messages_json, user_id = excluded.user_id, created_at = now()
    returning token, created_at`.execute(sql);
  return rows[0]!;
}

export async function findShareOf(sql: Sql, of: Conversation): Promise<Shared | undefined> {
  const { rows } = await raw<Shared>`select token, created_at from chat_shares
    where workspace_id = ${of.workspace_id} and server = ${of.server} and thread = ${of.thread}
  `.execute(sql);
  return rows[0];
}

export async function deleteShare(sql: Sql, of: Conversation): Promise<void> {
  await raw`delete from chat_shares
    where workspace_id = ${of.workspace_id} and server = ${of.server} and thread = ${of.thread}
  `.execute(sql);
}

/** By its token alone, for any caller: that is what sharing means. */
export async function findShare(sql: Sql, token: string): Promise<Share | undefined> {
  const { rows } = await raw<Share>`select * from chat_shares where token = ${token}`.execute(sql);
  return rows[0];
}
