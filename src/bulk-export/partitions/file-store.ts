import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { exactTimeSql } from "../../platform/exact-time.ts";

/** A file with the partition that wrote it. */
export type ListedFile = {
  partition_id: string;
  session_id: string;
  start_time: string;
  end_time: string;
  /** Its number in the partition, from 0. */
  part: number;
  key: string;
  rows: number;
  bytes: number;
};

/** The last file of the page before. */
export type FileCursor = { partitionId: string; part: number };
export type FilePage = { limit: number; after: FileCursor | null; partitionId: string | null };

/** In the order of their windows. A page begins after a file and not at a number: partitions finish in any order. */
export async function listFiles(sql: Sql, exportId: string, page: FilePage): Promise<ListedFile[]> {
  const ofPartition = page.partitionId === null ? raw`` : raw`and r.id = ${page.partitionId}`;
  const after =
    page.after === null
      ? raw``
      : raw`and (r.start_time, r.session_id, f.number) > (select p.start_time, p.session_id, ${page.after.part + 1}::bigint
          from bulk_export_runs p where p.id = ${page.after.partitionId} and p.bulk_export_id = ${exportId})`;
  const { rows } = await raw<ListedFile>`
    select r.id as partition_id, r.session_id, ${raw.raw(exactTimeSql("r.start_time"))} as start_time,
      ${raw.raw(exactTimeSql("r.end_time"))} as end_time, (f.number - 1)::int as part,
      f.file->>'path' as key, (f.file->>'rows')::bigint as rows, (f.file->>'bytes')::bigint as bytes
    from bulk_export_runs r cross join lateral jsonb_array_elements(r.files) with ordinality as f (file, number)
    where r.bulk_export_id = ${exportId} ${ofPartition} ${after}
    order by r.start_time, r.session_id, f.number
    limit ${page.limit}`.execute(sql);
  return rows;
}
