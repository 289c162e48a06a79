import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Listener, ListenerProcess } from "./listener.ts";

export async function insertListener(
  sql: Sql,
  row: Pick<Listener, "id" | "workspace_id" | "version" | "compute_type" | "compute_id" | "compute_config">,
  now: Date,
): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    insert into listeners (id, workspace_id, version, compute_type, compute_id, compute_config, created_at, updated_at)
    values (${row.id}, ${row.workspace_id}, ${row.version}, ${row.compute_type}, ${row.compute_id},
      ${JSON.stringify(row.compute_config)}::jsonb, ${now}, ${now})
    on conflict (workspace_id, compute_id) do nothing returning *`.execute(sql);
  return rows[0];
}

export async function listListeners(
  sql: Sql,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<Listener[]> {
  const { rows } = await raw<Listener>`
    select * from listeners where workspace_id = ${workspaceId} order by created_at desc, id desc
    limit ${page.limit} offset ${page.offset}`.execute(sql);
  return rows;
}

export async function findListener(sql: Sql, workspaceId: string, id: string): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    select * from listeners where id = ${id} and workspace_id = ${workspaceId}`.execute(sql);
  return rows[0];
}

export async function readListeners(sql: Sql, ids: readonly string[]): Promise<Listener[]> {
  if (ids.length === 0) return [];
  const { rows } = await raw<Listener>`select * from listeners where id = any(${ids}::uuid[])`.execute(sql);
  return rows;
}

/** How many deployments each of these has to run. */
export async function countDeployments(sql: Sql, ids: readonly string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const { rows } = await raw<{ id: string; count: number }>`
    select source_config->>'listener_id' as id, count(*)::int as count from deployments
    where source_config->>'listener_id' = any(${ids}::text[]) and deleted_at is null group by 1`.execute(sql);
  return new Map(rows.map(({ id, count }) => [id, count]));
}

export async function saveListener(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: { version?: string | null | undefined; computeConfig?: Record<string, unknown> | null | undefined },
  now: Date,
): Promise<Listener | undefined> {
  const config = change.computeConfig ? JSON.stringify(change.computeConfig) : null;
  const { rows } = await raw<Listener>`
    update listeners set version = coalesce(${change.version ?? null}, version),
      compute_config = coalesce(${config}::jsonb, compute_config), updated_at = ${now}
    where id = ${id} and workspace_id = ${workspaceId} returning *`.execute(sql);
  return rows[0];
}

/** What is left of its deleted deployments nobody will report any more. */
export async function deleteListener(tx: Sql, workspaceId: string, id: string): Promise<boolean> {
  const { rows } = await raw`
    delete from listeners where id = ${id} and workspace_id = ${workspaceId} returning id`.execute(tx);
  if (rows.length === 0) return false;
  await raw`
    update deployment_instances i set state = 'exited', exit_kind = 'lost', exited_at = now()
    from deployments d where i.deployment_id = d.id and i.runtime = 'remote' and i.state <> 'exited'
      and d.source_config->>'listener_id' = ${id}`.execute(tx);
  await raw`
    update deployments set remote_held = false where source_config->>'listener_id' = ${id}`.execute(tx);
  return true;
}

/** There until the end of the transaction. Its lease may change meanwhile: reports about the same deployment do not wait. */
export async function holdListener(tx: Sql, workspaceId: string, id: string): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    select * from listeners where id = ${id} and workspace_id = ${workspaceId} for key share`.execute(tx);
  return rows[0];
}

/** For a change of its lease, or its removal. */
export async function lockListener(tx: Sql, workspaceId: string, id: string): Promise<Listener | undefined> {
  const { rows } = await raw<Listener>`
    select * from listeners where id = ${id} and workspace_id = ${workspaceId} for update`.execute(tx);
  return rows[0];
}

export type NewLease = { place: string; holder: string; process: ListenerProcess; until: Date };

/** Another place has another database, whose events and lines are counted from its beginning. */
export async function saveLease(tx: Sql, id: string, lease: NewLease, now: Date): Promise<Listener> {
  const { rows } = await raw<Listener>`
    update listeners set lease_epoch = lease_epoch + 1, report_number = 0, holder = ${lease.holder}, leased_until = ${lease.until},
      seen_at = ${now}, process = ${JSON.stringify(lease.process)}::jsonb, place = ${lease.place},
      event_cursor = case when place = ${lease.place} then event_cursor else 0 end,
      log_cursor = case when place = ${lease.place} then log_cursor else 0 end,
      metrics_until = case when place = ${lease.place} then metrics_until end
    where id = ${id} returning *`.execute(tx);
  return rows[0]!;
}

/**
 * Renews the lease of that epoch and keeps others out until the commit. Nothing when another process has one by now,
 * or the listener is not this workspace's.
 */
export async function renewLease(
  tx: Sql,
  of: { workspaceId: string; id: string; epoch: number; apiKeyId: string | null },
  until: Date,
  now: Date,
): Promise<(Listener & { key_listener_id: string | null }) | undefined> {
  const { rows } = await raw<Listener & { key_listener_id: string | null }>`
    update listeners set leased_until = ${until}, seen_at = ${now}
    where id = ${of.id} and workspace_id = ${of.workspaceId} and lease_epoch = ${of.epoch}
      and holder is not null
    returning *, (select k.listener_id from listener_keys k where k.api_key_id = ${of.apiKeyId}) as key_listener_id`.execute(
    tx,
  );
  return rows[0];
}

/** From now on another process may take it, and what this one still sends is refused. */
export async function endLease(
  tx: Sql,
  of: { workspaceId: string; id: string; epoch: number },
  now: Date,
): Promise<void> {
  await raw`update listeners set leased_until = ${now}, holder = null
    where id = ${of.id} and workspace_id = ${of.workspaceId} and lease_epoch = ${of.epoch}`.execute(tx);
}

export async function saveCursors(
  tx: Sql,
  id: string,
  cursors: { report: number; events: number; logs: number; metricsUntil: Date | null },
): Promise<void> {
  await raw`update listeners set event_cursor = ${cursors.events}, log_cursor = ${cursors.logs},
    metrics_until = ${cursors.metricsUntil}, report_number = ${cursors.report} where id = ${id}`.execute(tx);
}
