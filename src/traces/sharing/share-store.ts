import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type ShareKind = "trace" | "dataset";
export type Share = { token: string; workspace_id: string; kind: ShareKind; target_id: string };

const columns = raw.raw("token, workspace_id, kind, target_id");

/** Nothing is written when the target is shared already, or the token is taken. */
export async function insertShare(sql: Sql, share: Share): Promise<void> {
  await raw`
    insert into trace_shares (token, workspace_id, kind, target_id)
    values (${share.token}, ${share.workspace_id}, ${share.kind}, ${share.target_id}) on conflict do nothing
  `.execute(sql);
}

export async function findShareOf(
  sql: Sql,
  workspaceId: string,
  kind: ShareKind,
  targetId: string,
): Promise<Share | undefined> {
  const { rows } = await raw<Share>`
    select ${columns} from trace_shares
    where workspace_id = ${workspaceId} and kind = ${kind} and target_id = ${targetId}
  `.execute(sql);
  return rows[0];
}

export async function findShare(sql: Sql, token: string, kind: ShareKind): Promise<Share | undefined> {
  const { rows } = await raw<Share>`
    select ${columns} from trace_shares where token = ${token} and kind = ${kind}
  `.execute(sql);
  return rows[0];
}

export async function deleteShare(
  sql: Sql,
  workspaceId: string,
  kind: ShareKind,
  targetId: string,
): Promise<void> {
  await raw`
    delete from trace_shares where workspace_id = ${workspaceId} and kind = ${kind} and target_id = ${targetId}
  `.execute(sql);
}
