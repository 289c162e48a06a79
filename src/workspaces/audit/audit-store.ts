import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { AuditOutcome } from "../../platform/http/audit/audit.ts";
import type { AuditEvent } from "./audit.ts";

const columns = `id, workspace_id, organization_id, at, action, outcome, status, error_code, actor_kind, via, user_id,
  api_key_id, session_id, target_kind, target_id, target_name, address, user_agent, request_id, details`;

/** Ids are made before the first try: a batch whose commit was not confirmed may be written again. */
export const insertAuditEvents: Statement = {
  name: "audit_events_insert_v1",
  text: `insert into audit_events (${columns})
    select ${columns} from jsonb_to_recordset($1::jsonb) as row (id uuid, workspace_id uuid, organization_id uuid,
      at timestamptz, action text, outcome text, status integer, error_code text, actor_kind text, via text,
      user_id uuid, api_key_id uuid, session_id uuid, target_kind text, target_id text, target_name text,
      address text, user_agent text, request_id text, details jsonb)
    on conflict (id) do nothing`,
};

export async function insertEvents(database: Database, events: readonly AuditEvent[]): Promise<void> {
  await database.query(insertAuditEvents, [JSON.stringify(events)]);
}

export type AuditFilter = {
  workspaceId: string;
  /** Also what belongs to no workspace. */
  withInstallation: boolean;
  action?: string | undefined;
  outcome?: AuditOutcome | undefined;
  userId?: string | undefined;
  apiKeyId?: string | undefined;
  targetId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  /** The last one of the page before. */
  after?: { at: Date; id: string } | undefined;
  limit: number;
};

export type ListedEvent = AuditEvent & { user_email: string | null; key_name: string | null };

/** Newest first. Each branch reads its own index in order, so a page costs a page. */
export async function listEvents(sql: Sql, filter: AuditFilter): Promise<ListedEvent[]> {
  const own = branch(raw`e.workspace_id = ${filter.workspaceId}`, filter);
  const source = filter.withInstallation
    ? raw`(${own}) union all (${branch(raw`e.workspace_id is null`, filter)})`
    : own;
  const { rows } = await raw<ListedEvent>`
    select e.*, u.email as user_email, k.name as key_name
    from (${source}) e left join users u on u.id = e.user_id left join api_keys k on k.id = e.api_key_id
    order by e.at desc, e.id desc limit ${filter.limit}`.execute(sql);
  return rows;
}

function branch(place: ReturnType<typeof raw>, filter: AuditFilter) {
  const conditions = [place];
  const { action, outcome, userId, apiKeyId, targetId, from, to, after } = filter;
  if (action !== undefined) conditions.push(raw`e.action = ${action}`);
  if (outcome !== undefined) conditions.push(raw`e.outcome = ${outcome}`);
  if (userId !== undefined) conditions.push(raw`e.user_id = ${userId}`);
  if (apiKeyId !== undefined) conditions.push(raw`e.api_key_id = ${apiKeyId}`);
  if (targetId !== undefined) conditions.push(raw`e.target_id = ${targetId}`);
  if (from !== undefined) conditions.push(raw`e.at >= ${from}`);
  if (to !== undefined) conditions.push(raw`e.at < ${to}`);
  if (after !== undefined) conditions.push(raw`(e.at, e.id) < (${after.at}, ${after.id}::uuid)`);
  return raw`select e.* from audit_events e where ${raw.join(conditions, raw` and `)}
    order by e.at desc, e.id desc limit ${filter.limit}`;
}

/** Needs a transaction: the setting that lets retention delete ends with it. */
export async function deleteEventsBefore(tx: Sql, before: Date, limit: number): Promise<number> {
  await raw`select set_config('treadle.audit_retention', 'on', true)`.execute(tx);
  const { rows } = await raw`
    delete from audit_events where id = any(array(
      select id from audit_events where at < ${before} order by at limit ${limit})) returning id`.execute(tx);
  return rows.length;
}
