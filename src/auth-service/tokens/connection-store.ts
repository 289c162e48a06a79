import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** An agent's use of a token that a user lent it. */
export type Connection = {
  id: string;
  agent_id: string;
  oauth_token_id: string;
  provider_id: string;
  provider_account_label: string | null;
  scopes: string[];
  expires_at: Date | null;
  created_by: string;
  created_at: Date;
};

const columns =
  raw.raw(`c.id, c.agent_id, c.oauth_token_id, p.provider_id, t.provider_account_label, t.scopes,
  t.expires_at, c.created_by, c.created_at`);
const source = raw.raw(`auth_connections c join auth_tokens t on t.id = c.oauth_token_id
  join auth_providers p on p.id = t.provider`);

export async function listConnections(sql: Sql, workspaceId: string, agentId: string): Promise<Connection[]> {
  const { rows } = await raw<Connection>`select ${columns} from ${source}
    where c.workspace_id = ${workspaceId} and c.agent_id = ${agentId} order by c.created_at, c.id`.execute(
    sql,
  );
  return rows;
}

export async function findConnection(
  sql: Sql,
  workspaceId: string,
  agentId: string,
  id: string,
): Promise<Connection | undefined> {
  const { rows } = await raw<Connection>`select ${columns} from ${source}
    where c.workspace_id = ${workspaceId} and c.agent_id = ${agentId} and c.id = ${id}`.execute(sql);
  return rows[0];
}

export async function findConnectionOfToken(
  sql: Sql,
  workspaceId: string,
  agentId: string,
  tokenId: string,
): Promise<Connection | undefined> {
  const { rows } = await raw<Connection>`select ${columns} from ${source}
    where c.workspace_id = ${workspaceId} and c.agent_id = ${agentId} and c.oauth_token_id = ${tokenId}`.execute(
    sql,
  );
  return rows[0];
}

/** Linking the same token twice is one link. */
export async function insertConnection(
  sql: Sql,
  connection: { id: string; workspaceId: string; agentId: string; tokenId: string; createdBy: string },
  now: Date,
): Promise<void> {
  const c = connection;
  await raw`insert into auth_connections (id, workspace_id, agent_id, oauth_token_id, created_by, created_at)
    values (${c.id}, ${c.workspaceId}, ${c.agentId}, ${c.tokenId}, ${c.createdBy}, ${now})
    on conflict (workspace_id, agent_id, oauth_token_id) do nothing`.execute(sql);
}

export async function deleteConnection(sql: Sql, workspaceId: string, id: string): Promise<void> {
  await raw`delete from auth_connections where workspace_id = ${workspaceId} and id = ${id}`.execute(sql);
}

/** Whether any agent other than this one uses the token. */
export async function isTokenShared(sql: Sql, tokenId: string, agentId: string): Promise<boolean> {
  const { rows } = await raw`select 1 from auth_connections
    where oauth_token_id = ${tokenId} and agent_id <> ${agentId} limit 1`.execute(sql);
  return rows.length > 0;
}
