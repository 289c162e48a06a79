import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { type Exit, type ExitKind, ownEnds } from "./exit.ts";

/** How often the servers of a revision ended by themselves, and how the last one did. */
export type Exits = { restarts: number; recent: number; last: { at: Date; exit: Exit } | null };

export const noExits: Exits = { restarts: 0, recent: 0, last: null };
/** A server that stayed for this long after the last end has settled. */
export const recentMs = 10 * 60_000;

/** By revision; one without such ends is not in it. */
export async function readExits(
  sql: Sql,
  revisionIds: readonly string[],
  now: Date,
): Promise<Map<string, Exits>> {
  if (revisionIds.length === 0) return new Map();
  const since = new Date(now.getTime() - recentMs);
  const { rows } = await raw<{
    revision_id: string;
    restarts: number;
    recent: number;
    at: Date;
    kind: ExitKind;
    detail: string | null;
  }>`
    select revision_id, count(*)::int as restarts, (count(*) filter (where exited_at > ${since}))::int as recent,
      max(exited_at) as at, (array_agg(exit_kind order by exited_at desc))[1] as kind,
      (array_agg(exit_detail order by exited_at desc))[1] as detail
    from deployment_instances
    where revision_id = any(${revisionIds}::uuid[]) and state = 'exited'
      and exit_kind = any(${ownEnds}::text[])
    group by revision_id`.execute(sql);
  return new Map(
    rows.map(({ revision_id, restarts, recent, at, kind, detail }) => [
      revision_id,
      { restarts, recent, last: { at, exit: { kind, detail } } },
    ]),
  );
}
