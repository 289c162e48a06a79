import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { Cron, CronSortField, Firing } from "./cron.ts";

export const cronChannel = "treadle_crons";

type CronRow = Omit<Cron, "payload" | "caller"> & { payload_json: string; caller_json: string | null };

const columns = raw`c.cron_id, c.workspace_id, c.assistant_id, c.thread_id, c.user_id, c.schedule, c.timezone, c.end_time,
  c.on_run_completed, c.enabled, c.payload_json, c.caller_json, c.metadata, c.next_run_date, c.created_at, c.updated_at`;

function toCron({ payload_json, caller_json, ...row }: CronRow): Cron {
  const caller = caller_json === null ? null : (JSON.parse(caller_json) as Cron["caller"]);
  return { ...row, payload: JSON.parse(payload_json), caller };
}

export type NewCron = Omit<Cron, "updated_at">;

/** Undefined when the workspace has no such thread. */
export async function insertCron(sql: Sql, cron: NewCron): Promise<Cron | undefined> {
  const { rows } = await raw<CronRow>`insert into crons as c
      (cron_id, workspace_id, assistant_id, thread_id, user_id, schedule, timezone, end_time, on_run_completed, enabled,
       payload_json, caller_json, metadata, next_run_date, created_at, updated_at)
    select ${cron.cron_id}::uuid, ${cron.workspace_id}::uuid, ${cron.assistant_id}::uuid, ${cron.thread_id}::uuid,
      ${cron.user_id}, ${cron.schedule}, ${cron.timezone}, ${cron.end_time}::timestamptz, ${cron.on_run_completed},
      ${cron.enabled}::boolean, ${JSON.stringify(cron.payload)},
      ${cron.caller === null ? null : JSON.stringify(cron.caller)}::text, ${JSON.stringify(cron.metadata)}::jsonb,
      ${cron.next_run_date}::timestamptz, ${cron.created_at}::timestamptz, ${cron.created_at}::timestamptz
    where ${cron.thread_id}::uuid is null
      or exists (select from threads where thread_id = ${cron.thread_id} and workspace_id = ${cron.workspace_id})
    returning ${columns}`.execute(sql);
  return rows.map(toCron)[0];
}

export async function findCron(
  sql: Sql,
  workspaceId: string,
  cronId: string,
  lock?: "for update",
): Promise<Cron | undefined> {
  const { rows } = await raw<CronRow>`select ${columns} from crons c
    where c.workspace_id = ${workspaceId} and c.cron_id = ${cronId} ${lock ? raw`for update` : raw``}`.execute(
    sql,
  );
  return rows.map(toCron)[0];
}

export async function saveCron(sql: Sql, cron: Cron): Promise<void> {
  await raw`update crons set
      schedule = ${cron.schedule}, timezone = ${cron.timezone}, end_time = ${cron.end_time},
      on_run_completed = ${cron.on_run_completed}, enabled = ${cron.enabled},
      payload_json = ${JSON.stringify(cron.payload)}, metadata = ${JSON.stringify(cron.metadata)}::jsonb,
      next_run_date = ${cron.next_run_date}, updated_at = ${cron.updated_at}
    where cron_id = ${cron.cron_id}`.execute(sql);
}

export async function deleteCron(sql: Sql, workspaceId: string, cronId: string): Promise<boolean> {
  const { numAffectedRows } = await raw`delete from crons
    where workspace_id = ${workspaceId} and cron_id = ${cronId}`.execute(sql);
  return Number(numAffectedRows ?? 0) > 0;
}

export type CronFilter = {
  workspaceId: string;
  assistantId?: string | undefined;
  threadId?: string | undefined;
  enabled?: boolean | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** What the project's own authorization demands of the rows, which are called `c`. */
  condition?: RawBuilder<unknown> | undefined;
};
export type CronPage = { limit: number; offset: number; sortBy: CronSortField; sortOrder: "asc" | "desc" };

export async function searchCrons(
  sql: Sql,
  filter: CronFilter,
  page: CronPage,
): Promise<{ crons: Cron[]; total: number }> {
  const column = raw.ref(`c.${page.sortBy}`);
  const direction = page.sortOrder === "asc" ? raw`asc` : raw`desc`;
  const { rows } = await raw<CronRow>`select ${columns} from crons c
    where ${matches(filter)}
    order by ${column} ${direction} nulls last, c.cron_id ${direction}
    limit ${page.limit} offset ${page.offset}`.execute(sql);
  return { crons: rows.map(toCron), total: await countCrons(sql, filter) };
}

export async function countCrons(sql: Sql, filter: CronFilter): Promise<number> {
  const { rows } = await raw<{ total: number }>`select count(*)::int as total from crons c
    where ${matches(filter)}`.execute(sql);
  return rows[0]!.total;
}

function matches(filter: CronFilter): RawBuilder<unknown> {
  const { assistantId, threadId, enabled, metadata, condition } = filter;
  return raw.join(
    [
      raw`c.workspace_id = ${filter.workspaceId}`,
      ...(assistantId === undefined ? [] : [raw`c.assistant_id = ${assistantId}`]),
      ...(threadId === undefined ? [] : [raw`c.thread_id = ${threadId}`]),
      ...(enabled === undefined ? [] : [raw`c.enabled = ${enabled}`]),
      ...(metadata === undefined ? [] : [raw`c.metadata @> ${JSON.stringify(metadata)}::jsonb`]),
      ...(condition === undefined ? [] : [condition]),
    ],
    raw` and `,
  );
}

/** Due ones that no other process is taking; they stay locked until the transaction ends. */
export async function lockDueCrons(sql: Sql, now: Date, limit: number): Promise<Cron[]> {
  const { rows } = await raw<CronRow>`select ${columns} from crons c
    where c.next_run_date <= ${now}
    order by c.next_run_date
    limit ${limit}
    for update skip locked`.execute(sql);
  return rows.map(toCron);
}

export async function setNextRunDate(sql: Sql, cronId: string, next: Date | null): Promise<void> {
  await raw`update crons set next_run_date = ${next} where cron_id = ${cronId}`.execute(sql);
}

/** False when this due time is taken already. */
export async function insertFiring(sql: Sql, firing: Firing, leaseExpiresAt: Date): Promise<boolean> {
  const { numAffectedRows } =
    await raw`insert into cron_firings (firing_id, cron_id, due_at, attempts, lease_expires_at)
    values (${firing.firing_id}, ${firing.cron.cron_id}, ${firing.due_at}, ${firing.attempts}, ${leaseExpiresAt})
    on conflict (cron_id, due_at) do nothing`.execute(sql);
  return Number(numAffectedRows ?? 0) > 0;
}

/** Firings whose process died before it started the run. */
export async function takeAbandonedFirings(
  sql: Sql,
  now: Date,
  leaseExpiresAt: Date,
  limit: number,
): Promise<Firing[]> {
  type Row = CronRow & { firing_id: string; due_at: Date; attempts: number };
  const { rows } = await raw<Row>`with abandoned as (
      select firing_id from cron_firings where lease_expires_at <= ${now}
      order by lease_expires_at limit ${limit} for update skip locked
    )
    update cron_firings f set attempts = f.attempts + 1, lease_expires_at = ${leaseExpiresAt}
    from abandoned, crons c
    where f.firing_id = abandoned.firing_id and c.cron_id = f.cron_id
    returning f.firing_id, f.due_at, f.attempts, ${columns}`.execute(sql);
  return rows.map(({ firing_id, due_at, attempts, ...row }) => ({
    firing_id,
    due_at,
    attempts,
    cron: toCron(row),
  }));
}

type TakenFiring = Pick<Firing, "firing_id" | "attempts">;

// Each of these changes nothing when another process has taken the firing meanwhile: that is another attempt.

export async function postponeFiring(sql: Sql, firing: TakenFiring, until: Date): Promise<void> {
  await raw`update cron_firings set lease_expires_at = ${until}
    where firing_id = ${firing.firing_id} and attempts = ${firing.attempts}`.execute(sql);
}

export async function deleteFiring(sql: Sql, firing: TakenFiring): Promise<void> {
  await raw`delete from cron_firings
    where firing_id = ${firing.firing_id} and attempts = ${firing.attempts}`.execute(sql);
}

/** The ids of those that are still ours. */
export async function extendFirings(
  sql: Sql,
  firings: readonly TakenFiring[],
  until: Date,
): Promise<Set<string>> {
  const ids = firings.map(({ firing_id }) => firing_id);
  const attempts = firings.map((firing) => firing.attempts);
  const { rows } = await raw<{ firing_id: string }>`update cron_firings f set lease_expires_at = ${until}
    from unnest(${ids}::uuid[], ${attempts}::int[]) as held (firing_id, attempts)
    where f.firing_id = held.firing_id and f.attempts = held.attempts
    returning f.firing_id`.execute(sql);
  return new Set(rows.map((row) => row.firing_id));
}

export async function hasRunOfFiring(sql: Sql, threadId: string, firingId: string): Promise<boolean> {
  const { rows } = await raw`select 1 from runs
    where thread_id = ${threadId} and metadata ->> 'cron_firing_id' = ${firingId} limit 1`.execute(sql);
  return rows.length > 0;
}

export const nextWakeStatement: Statement = {
  name: "crons_next_wake_v1",
  text: `select least(
      (select min(next_run_date) from crons where next_run_date is not null),
      (select min(lease_expires_at) from cron_firings where lease_expires_at > '-infinity')
    ) as at`,
};

/** When the next look is needed; null when nothing is planned. */
export async function findNextWake(database: Database): Promise<Date | null> {
  const [row] = await database.background<{ at: Date | null }>(nextWakeStatement, []);
  return row?.at ?? null;
}

/** Every process is notified when the transaction commits. */
export async function announceChange(sql: Sql): Promise<void> {
  await raw`select pg_notify(${cronChannel}, '')`.execute(sql);
}
