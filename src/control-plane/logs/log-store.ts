import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { LogKind, LogLine, LogPlace, LogRow } from "./log.ts";

export async function insertLogs(sql: Sql, place: LogPlace, lines: readonly LogLine[]): Promise<void> {
  if (lines.length === 0) return;
  const rows = JSON.stringify(
    lines.map(({ at, level, message, runId, origin }) => ({
      ...{ at, level, message, run_id: runId ?? null, origin: origin ?? null },
    })),
  );
  // A deployment purged meanwhile takes its logs with it.
  await raw`
    insert into deployment_logs (deployment_id, revision_id, kind, at, level, message, run_id, origin)
    select ${place.deploymentId}::uuid, ${place.revisionId}::uuid, ${place.kind}, l.at, l.level, l.message, l.run_id,
      l.origin
    from json_to_recordset(${rows}::json) as l (at timestamptz, level text, message text, run_id text, origin text)
    where exists (select 1 from deployments where id = ${place.deploymentId})`.execute(sql);
}

export type LogQuery = LogFilter & {
  deploymentId: string;
  kind: LogKind;
  limit: number;
};

/** Which lines of a log. */
export type LogFilter = {
  revisionId?: string | undefined;
  order: "asc" | "desc";
  /** The id of the last line seen. */
  after?: number | undefined;
  startTime?: Date | undefined;
  endTime?: Date | undefined;
  level?: string | undefined;
  text?: string | undefined;
  runId?: string | undefined;
};

export async function readLogs(sql: Sql, query: LogQuery): Promise<LogRow[]> {
  const where = [raw`deployment_id = ${query.deploymentId}`, raw`kind = ${query.kind}`];
  if (query.revisionId !== undefined) where.push(raw`revision_id = ${query.revisionId}`);
  if (query.after !== undefined) {
    where.push(query.order === "asc" ? raw`id > ${query.after}` : raw`id < ${query.after}`);
  }
  if (query.startTime !== undefined) where.push(raw`at >= ${query.startTime}`);
  if (query.endTime !== undefined) where.push(raw`at <= ${query.endTime}`);
  if (query.level !== undefined) where.push(raw`level = ${query.level}`);
  if (query.text !== undefined && query.text !== "") {
    where.push(raw`position(lower(${query.text}) in lower(message)) > 0`);
  }
  if (query.runId !== undefined) where.push(raw`run_id = ${query.runId}`);
  const direction = query.order === "asc" ? raw`asc` : raw`desc`;
  const { rows } = await raw<LogRow>`
    select id, revision_id, kind, at, level, message, run_id, origin from deployment_logs
    where ${raw.join(where, raw` and `)} order by id ${direction} limit ${query.limit}`.execute(sql);
  return rows;
}

/** The end of a revision's log, oldest line first. */
export async function lastLines(
  sql: Sql,
  revisionId: string,
  kind: LogKind,
  count: number,
): Promise<string[]> {
  const { rows } = await raw<{ message: string }>`
    select message from deployment_logs where revision_id = ${revisionId} and kind = ${kind}
    order by id desc limit ${count}`.execute(sql);
  return rows.map((row) => row.message).reverse();
}

/** How many times as long, and as many, lines are kept that a listener has not told its platform yet. */
export const untoldTimes = 4;

/** On a platform there are none. A listener that has had no lease since it was upgraded has told nothing that it knows of. */
const isUntold = raw`exists (select 1 from deployments d where d.id = l.deployment_id and d.mirrored
  and l.id > coalesce((select m.log_cursor from mirror_state m), 0))`;

export type LogLimits = { before: Date; untoldBefore: Date; maxLines: number };

/**
 * Old lines, and those beyond what each log may keep in the database. At a listener, those that its platform does not
 * have yet stay: four times as long, by when they were stored, and four times as many.
 */
export async function pruneLogs(sql: Sql, limits: LogLimits): Promise<void> {
  await raw`delete from deployment_logs l where l.at < ${limits.before}
    and (l.stored_at < ${limits.untoldBefore} or not ${isUntold})`.execute(sql);
  const newestOf = (kept: number) => raw`(select id from deployment_logs
    where deployment_id = d.id and kind = k.kind order by id desc offset ${kept} limit 1)`;
  await raw`
    delete from deployment_logs l using (
      select d.id as deployment_id, k.kind, newest_removed.id as last_id, coalesce(untold.id, 0) as last_untold
      from deployments d
      cross join (values ('build'), ('deploy')) as k (kind)
      cross join lateral ${newestOf(limits.maxLines)} newest_removed
      left join lateral ${newestOf(limits.maxLines * untoldTimes)} untold on true) cut
    where l.deployment_id = cut.deployment_id and l.kind = cut.kind and l.id <= cut.last_id
      and (l.id <= cut.last_untold or not ${isUntold})`.execute(sql);
}
