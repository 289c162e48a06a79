import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import type { AlertDelivery, AlertEvent, AlertRule, AlertState, Undelivered } from "./alert.ts";

export type StoredRule = AlertRule & { createdBy: string | null };

export async function insertRule(sql: Sql, rule: StoredRule): Promise<void> {
  await raw`
    insert into alert_rules (id, workspace_id, name, kind, scope, scope_id, window_minutes, threshold, min_runs, emails,
      webhook_host, webhook_sealed, enabled, muted_until, state, state_since, created_by, created_at, updated_at)
    values (${rule.id}, ${rule.workspace_id}, ${rule.name}, ${rule.kind}, ${rule.scope}, ${rule.scope_id},
      ${rule.window_minutes}, ${rule.threshold}, ${rule.min_runs}, ${rule.emails}::text[], ${rule.webhook_host},
      ${rule.webhook_sealed}, ${rule.enabled}, ${rule.muted_until}, ${rule.state}, ${rule.state_since},
      ${rule.createdBy}, ${rule.created_at}, ${rule.updated_at})`.execute(sql);
}

export async function lockWorkspaceRules(tx: Sql, workspaceId: string): Promise<number> {
  await raw`select 1 from workspaces where id = ${workspaceId} for update`.execute(tx);
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from alert_rules where workspace_id = ${workspaceId}`.execute(tx);
  return rows[0]!.count;
}

export async function listRules(sql: Sql, workspaceId: string): Promise<AlertRule[]> {
  const { rows } = await raw<AlertRule>`
    select * from alert_rules where workspace_id = ${workspaceId} order by created_at desc, id desc`.execute(
    sql,
  );
  return rows;
}

export async function findRule(
  sql: Sql,
  workspaceId: string,
  id: string,
  { lock = false } = {},
): Promise<AlertRule | undefined> {
  const { rows } = await raw<AlertRule>`
    select * from alert_rules where id = ${id} and workspace_id = ${workspaceId}
    ${lock ? raw`for update` : raw``}`.execute(sql);
  return rows[0];
}

/** Changed rules are looked at soon, not when their turn would have come. */
export async function saveRule(tx: Sql, rule: AlertRule): Promise<void> {
  await raw`
    update alert_rules set name = ${rule.name}, window_minutes = ${rule.window_minutes}, threshold = ${rule.threshold},
      min_runs = ${rule.min_runs}, emails = ${rule.emails}::text[], webhook_host = ${rule.webhook_host},
      webhook_sealed = ${rule.webhook_sealed}, enabled = ${rule.enabled}, muted_until = ${rule.muted_until},
      evaluated_at = null, updated_at = ${rule.updated_at}
    where id = ${rule.id}`.execute(tx);
}

/** False when it was tested a moment ago. */
export async function markTested(tx: Sql, id: string, now: Date, pauseMs: number): Promise<boolean> {
  const { rows } = await raw`
    update alert_rules set tested_at = ${now}
    where id = ${id} and (tested_at is null or tested_at <= ${new Date(now.getTime() - pauseMs)})
    returning id`.execute(tx);
  return rows.length > 0;
}

export async function deleteRule(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const { rows } = await raw`
    delete from alert_rules where id = ${id} and workspace_id = ${workspaceId} returning id`.execute(sql);
  return rows.length > 0;
}

/**
 * The rules that are due, the one that waited longest first. A long window changes slowly: it is evaluated sixty times
 * in its length, and once a minute at most.
 */
export async function listDueRules(sql: Sql, now: Date, limit: number): Promise<AlertRule[]> {
  const { rows } = await raw<AlertRule>`
    select * from alert_rules where enabled and (evaluated_at is null or evaluated_at <=
      ${now}::timestamptz - greatest(interval '50 seconds', make_interval(secs => window_minutes)))
    order by evaluated_at nulls first limit ${limit}`.execute(sql);
  return rows;
}

/** False when the rule was changed, or evaluated by another process, since it was read. */
export async function saveEvaluation(
  tx: Sql,
  rule: AlertRule,
  seen: { state: AlertState; value: number | null; problem: string | null },
  now: Date,
): Promise<boolean> {
  const since = seen.state === rule.state ? rule.state_since : now;
  const { rows } = await raw`
    update alert_rules set state = ${seen.state}, state_since = ${since}, last_value = ${seen.value},
      problem = ${seen.problem}, evaluated_at = ${now}
    where id = ${rule.id} and enabled and state = ${rule.state} and updated_at = ${rule.updated_at}
      and evaluated_at is not distinct from ${rule.evaluated_at} returning id`.execute(tx);
  return rows.length > 0;
}

export async function insertEvent(tx: Sql, event: AlertEvent): Promise<void> {
  await raw`
    insert into alert_events (id, rule_id, workspace_id, kind, value, message, muted, at)
    values (${event.id}, ${event.rule_id}, ${event.workspace_id}, ${event.kind}, ${event.value}, ${event.message},
      ${event.muted}, ${event.at})`.execute(tx);
}

export async function listEvents(
  sql: Sql,
  of: { workspaceId: string; ruleId: string | null; limit: number; offset: number },
): Promise<AlertEvent[]> {
  const { rows } = await raw<AlertEvent>`
    select * from alert_events where workspace_id = ${of.workspaceId}
      and rule_id in (select id from alert_rules where workspace_id = ${of.workspaceId}
        and (${of.ruleId}::uuid is null or id = ${of.ruleId}::uuid))
    order by at desc, id desc limit ${of.limit} offset ${of.offset}`.execute(sql);
  return rows;
}

export async function pruneEvents(sql: Sql, before: Date): Promise<void> {
  await raw`delete from alert_events where at < ${before}`.execute(sql);
}

export async function insertDeliveries(
  tx: Sql,
  rows: readonly Pick<AlertDelivery, "id" | "event_id" | "channel" | "target">[],
): Promise<void> {
  for (const { id, event_id, channel, target } of rows)
    await raw`insert into alert_deliveries (id, event_id, channel, target)
      values (${id}, ${event_id}, ${channel}, ${target})`.execute(tx);
}

export async function listDeliveries(sql: Sql, eventIds: readonly string[]): Promise<AlertDelivery[]> {
  const { rows } = await raw<AlertDelivery>`
    select * from alert_deliveries where event_id = any(${eventIds}::uuid[]) order by channel, target`.execute(
    sql,
  );
  return rows;
}

/** Whom the newest notification of each rule did not reach. A muted event notified nobody. */
export async function listUndelivered(
  sql: Sql,
  workspaceId: string,
  ruleIds: readonly string[],
): Promise<(Undelivered & { rule_id: string })[]> {
  const { rows } = await raw<Undelivered & { rule_id: string }>`
    select r.id as rule_id, d.channel, d.target, d.status, d.error, newest.at
    from alert_rules r
    cross join lateral (
      select e.id, e.at from alert_events e
      where e.rule_id = r.id and e.workspace_id = ${workspaceId} and not e.muted
      order by e.at desc, e.id desc limit 1) newest
    join alert_deliveries d on d.event_id = newest.id
    where r.workspace_id = ${workspaceId} and r.id = any(${ruleIds}::uuid[])
      and d.status <> 'sent' and d.error is not null
    order by d.channel, d.target`.execute(sql);
  return rows;
}

export type DueDelivery = { delivery: AlertDelivery; event: AlertEvent; rule: AlertRule };

/** Undefined when its rule was deleted meanwhile. */
export async function findDelivery(sql: Sql, id: string): Promise<DueDelivery | undefined> {
  const { rows: deliveries } =
    await raw<AlertDelivery>`select * from alert_deliveries where id = ${id}`.execute(sql);
  const [delivery] = deliveries;
  if (!delivery) return undefined;
  const { rows: events } =
    await raw<AlertEvent>`select * from alert_events where id = ${delivery.event_id}`.execute(sql);
  const [event] = events;
  if (!event) return undefined;
  const rule = await findRule(sql, event.workspace_id, event.rule_id);
  return rule && { delivery, event, rule };
}

export async function saveDelivery(
  sql: Sql,
  id: string,
  end: { status: AlertDelivery["status"]; error: string | null; sentAt: Date | null },
): Promise<void> {
  await raw`
    update alert_deliveries set status = ${end.status}, error = ${end.error}, sent_at = ${end.sentAt},
      attempts = attempts + 1
    where id = ${id}`.execute(sql);
}
