import type { Database } from "../src/platform/db/database.ts";
import { raw } from "../src/platform/db/raw.ts";
import { runColumns } from "../src/traces/storage/postgres/writing/run-columns.ts";

const copied = 5_000;

/**
 * Stores runs until there are so many: copies of those that were sent, with ids and times of their own within ten
 * days. Then PostgreSQL learns what it holds, as it would by itself sooner or later.
 */
export async function growTraces({ sql }: Database, wanted: number): Promise<void> {
  const { rows } = await raw<{ stored: number }>`select count(*) as stored from trace_runs`.execute(sql);
  let missing = wanted - Number(rows[0]?.stored);
  const values = runColumns.map((name) => {
    if (name === "id" || name === "trace_id") return "uuidv7(-age)";
    return name === "start_time" ? "start_time - age" : name;
  });
  for (; missing > 0; missing -= copied) {
    await raw
      .raw(
        `with made as (
          insert into trace_runs (${runColumns.join(", ")})
          select ${values.join(", ")}
          from (select *, random() * interval '10 days' as age from trace_runs limit ${Math.min(copied, missing)}) s
          returning id, workspace_id, start_time
        )
        insert into trace_run_ids (id, workspace_id, start_time) select * from made`,
      )
      .execute(sql);
  }
  await raw.raw("vacuum (analyze) trace_runs, trace_run_ids").execute(sql);
}

export type TracesSize = { tableBytes: number; stored: number };

export async function sizeOf(database: Database): Promise<TracesSize> {
  const [size] = await database.query<TracesSize>(
    {
      name: "",
      text: `select (select count(*) from trace_runs) as stored,
        (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'trace_runs'::regclass)::bigint as "tableBytes"`,
    },
    [],
  );
  return size!;
}
