import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { LogKind, LogRow } from "./log.ts";
import type { LogSegment } from "./log-segment.ts";
import type { LogQuery } from "./log-store.ts";

export type LogOf = { deploymentId: string; kind: LogKind };

const columns = `id, deployment_id, kind, day::text as day, first_id, last_id, first_at, last_at, lines, bytes,
  revision_ids, levels`;
const mayMatch = `($4::uuid is null or $4 = any(revision_ids)) and ($5::text is null or $5 = any(levels))
  and ($6::timestamptz is null or last_at >= $6) and ($7::timestamptz is null or first_at <= $7)`;

/** Those with lines after an id, oldest first. */
export const segmentsAfter: Statement = {
  name: "log_segments_after_v1",
  text: `select ${columns} from deployment_log_segments
    where deployment_id = $1 and kind = $2 and last_id > $3 and ${mayMatch} order by last_id limit 20`,
};

/** Those before another one (its last id) with lines before an id, newest first. */
export const segmentsBefore: Statement = {
  name: "log_segments_before_v1",
  text: `select ${columns} from deployment_log_segments
    where deployment_id = $1 and kind = $2 and last_id < $3 and ${mayMatch} and first_id < $8
    order by last_id desc limit 20`,
};

const beyondAll = Number.MAX_SAFE_INTEGER;

/** That may have lines of the answer, in the order in which they are to be read. */
export async function* listSegments(database: Database, query: LogQuery): AsyncGenerator<LogSegment> {
  const { deploymentId, kind, order, after, revisionId, level, startTime, endTime } = query;
  const filter = [revisionId ?? null, level ?? null, startTime ?? null, endTime ?? null];
  let last = order === "asc" ? (after ?? 0) : beyondAll;
  for (;;) {
    const found =
      order === "asc"
        ? await database.query<LogSegment>(segmentsAfter, [deploymentId, kind, last, ...filter])
        : await database.query<LogSegment>(segmentsBefore, [
            ...[deploymentId, kind, last],
            ...[...filter, after ?? beyondAll],
          ]);
    if (found.length === 0) return;
    yield* found;
    last = found.at(-1)!.last_id;
  }
}

export async function hasSegment(sql: Sql, id: string): Promise<boolean> {
  const { rows } = await raw`select 1 from deployment_log_segments where id = ${id}`.execute(sql);
  return rows.length > 0;
}

/** Lines below this are in segments, but for one whose own transaction took longer than a day: it stays where it is. */
const newestMoved = raw`coalesce((select max(s.last_id) from deployment_log_segments s
  where s.deployment_id = d.id and s.kind = k.kind), 0)`;

/** Logs whose oldest line in the database was stored before; of deployments after one. */
export async function listLogsToMove(
  sql: Sql,
  { before, after, limit }: { before: Date; after: LogOf | null; limit: number },
): Promise<LogOf[]> {
  const from = after ?? { deploymentId: "00000000-0000-0000-0000-000000000000", kind: "build" };
  const { rows } = await raw<LogOf>`
    select d.id as "deploymentId", k.kind from deployments d
    cross join (values ('build'), ('deploy')) as k (kind)
    cross join lateral (select l.stored_at from deployment_logs l
      where l.deployment_id = d.id and l.kind = k.kind and l.id > ${newestMoved} order by l.id limit 1) oldest
    where (d.id, k.kind) > (${from.deploymentId}::uuid, ${from.kind}) and d.deleted_at is null
      and oldest.stored_at < ${before}
    order by d.id, k.kind limit ${limit}`.execute(sql);
  return rows;
}

export type StoredRow = LogRow & { stored_at: Date };

/** The oldest lines of a log that no segment has. */
export async function readLinesToMove(
  sql: Sql,
  { deploymentId, kind }: LogOf,
  { after, limit }: { after: number; limit: number },
): Promise<StoredRow[]> {
  const { rows } = await raw<StoredRow>`
    select l.id, l.revision_id, l.kind, l.at, l.level, l.message, l.run_id, l.origin, l.stored_at
    from deployment_logs l where l.deployment_id = ${deploymentId} and l.kind = ${kind} and l.id > ${after}
    order by l.id limit ${limit}`.execute(sql);
  return rows;
}

export async function readNewestMoved(sql: Sql, { deploymentId, kind }: LogOf): Promise<number> {
  const { rows } = await raw<{ last_id: number }>`
    select last_id from deployment_log_segments where deployment_id = ${deploymentId} and kind = ${kind}
    order by last_id desc limit 1`.execute(sql);
  return rows[0]?.last_id ?? 0;
}

/** Returns how many there were. */
export async function deleteMoved(
  tx: Sql,
  { deployment_id, kind, first_id, last_id }: LogSegment,
): Promise<number> {
  const { numAffectedRows } = await raw`
    delete from deployment_logs where deployment_id = ${deployment_id} and kind = ${kind}
      and id between ${first_id} and ${last_id}`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** False when the deployment has been deleted meanwhile. */
export async function insertSegment(tx: Sql, segment: LogSegment): Promise<boolean> {
  const { rows } = await raw`
    insert into deployment_log_segments (id, deployment_id, kind, day, first_id, last_id, first_at, last_at, lines,
      bytes, revision_ids, levels)
    select ${segment.id}::uuid, d.id, ${segment.kind}, ${segment.day}::date, ${segment.first_id}::bigint,
      ${segment.last_id}::bigint, ${segment.first_at}::timestamptz, ${segment.last_at}::timestamptz,
      ${segment.lines}::integer, ${segment.bytes}::bigint, ${segment.revision_ids}::uuid[], ${segment.levels}::text[]
    from deployments d where d.id = ${segment.deployment_id} and d.deleted_at is null
    returning id`.execute(tx);
  return rows.length > 0;
}

type SegmentName = Pick<LogSegment, "id" | "deployment_id" | "day">;

/** Of days before, and those with more than so many lines of their log after them. */
export async function deleteOldSegments(
  sql: Sql,
  { before, maxLines, limit }: { before: Date; maxLines: number; limit: number },
): Promise<SegmentName[]> {
  const { rows } = await raw<SegmentName>`
    with old as (
      select id from deployment_log_segments where day < ${before}::date
      union
      select id from (select id, sum(lines) over (partition by deployment_id, kind order by last_id desc) - lines as newer
        from deployment_log_segments) counted
      where newer >= ${maxLines}
      limit ${limit})
    delete from deployment_log_segments s using old where s.id = old.id
    returning s.id, s.deployment_id, s.day::text as day`.execute(sql);
  return rows;
}

export async function deleteSegmentsOf(sql: Sql, deploymentId: string): Promise<void> {
  await raw`delete from deployment_log_segments where deployment_id = ${deploymentId}`.execute(sql);
}
