import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { TokenEvent } from "./token-event.ts";

const columns =
  raw.raw(`id, workspace_id, owner_id, token_id, provider_id, agent_id, event_type, reason, source,
  provider_account_label, scopes, detail, acknowledged_at, created_at`);

export async function insertEvent(sql: Sql, event: TokenEvent): Promise<void> {
  const e = event;
  await raw`insert into auth_token_events (${columns}) values (${e.id}, ${e.workspace_id}, ${e.owner_id},
    ${e.token_id}, ${e.provider_id}, ${e.agent_id}, ${e.event_type}, ${e.reason}, ${e.source},
    ${e.provider_account_label}, ${e.scopes}, ${e.detail}, ${e.acknowledged_at}, ${e.created_at})`.execute(
    sql,
  );
}

export async function listEvents(
  sql: Sql,
  filter: { workspaceId: string; ownerId: string; providerId?: string | undefined; limit: number },
): Promise<TokenEvent[]> {
  const ofProvider = filter.providerId === undefined ? raw`true` : raw`provider_id = ${filter.providerId}`;
  const { rows } = await raw<TokenEvent>`select ${columns} from auth_token_events
    where workspace_id = ${filter.workspaceId} and owner_id = ${filter.ownerId} and ${ofProvider}
    order by created_at desc, id desc limit ${filter.limit}`.execute(sql);
  return rows;
}

export async function findEvent(sql: Sql, id: string): Promise<TokenEvent | undefined> {
  const { rows } = await raw<TokenEvent>`
    select ${columns} from auth_token_events where id = ${id}`.execute(sql);
  return rows[0];
}

export async function acknowledgeEvent(
  sql: Sql,
  key: { workspaceId: string; ownerId: string; id: string },
  now: Date,
): Promise<TokenEvent | undefined> {
  const { rows } = await raw<TokenEvent>`update auth_token_events
    set acknowledged_at = coalesce(acknowledged_at, ${now})
    where id = ${key.id} and workspace_id = ${key.workspaceId} and owner_id = ${key.ownerId}
    returning ${columns}`.execute(sql);
  return rows[0];
}

export async function deleteOldEvents(sql: Sql, before: Date): Promise<void> {
  await raw`delete from auth_token_events where created_at < ${before}`.execute(sql);
}

export type StoredWebhook = { url: string; secret_sealed: string; created_at: Date; updated_at: Date };

export async function findWebhook(sql: Sql, workspaceId: string): Promise<StoredWebhook | undefined> {
  const { rows } = await raw<StoredWebhook>`select url, secret_sealed, created_at, updated_at
    from auth_webhooks where workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

export async function saveWebhook(
  sql: Sql,
  webhook: { workspaceId: string; url: string; secretSealed: string },
  now: Date,
): Promise<StoredWebhook> {
  const { rows } = await raw<StoredWebhook>`
    insert into auth_webhooks (workspace_id, url, secret_sealed, created_at, updated_at)
    values (${webhook.workspaceId}, ${webhook.url}, ${webhook.secretSealed}, ${now}, ${now})
    on conflict (workspace_id) do update set url = excluded.url, secret_sealed = excluded.secret_sealed,
      updated_at = excluded.updated_at
    returning url, secret_sealed, created_at, updated_at`.execute(sql);
  return rows[0]!;
}

export async function deleteWebhook(sql: Sql, workspaceId: string): Promise<boolean> {
  const { rows } = await raw`
    delete from auth_webhooks where workspace_id = ${workspaceId} returning workspace_id`.execute(sql);
  return rows.length > 0;
}
