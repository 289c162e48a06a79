import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { RootSpan } from "../../run-storage.ts";

/** The span ids of stored roots, by trace: a root's run carries the trace's id instead of its own. */
export async function findRootSpans(
  sql: Sql,
  workspaceId: string,
  traceIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await raw<{ id: string; span: string | null }>`
    select id, metadata ->> 'OTEL_SPAN_ID' as span from trace_runs
    where id = any(${traceIds}::uuid[]) and workspace_id = ${workspaceId} and is_root
  `.execute(sql);
  return new Map(rows.flatMap((row) => (row.span === null ? [] : [[row.id, row.span]])));
}

/**
 * Makes whole what came in pieces: children that knew their root only by its span id point to its run, what they
 * spent waits for that run instead, and the places of all runs below the root follow from the tree.
 */
export async function relinkTraces(sql: Sql, workspaceId: string, roots: readonly RootSpan[]): Promise<void> {
  const traces = roots.map((root) => root.traceId);
  const spans = roots.map((root) => root.spanRunId);
  await raw`
    update trace_runs r set parent_run_id = u.trace_id
    from unnest(${traces}::uuid[], ${spans}::uuid[]) as u (trace_id, span_run_id)
    where r.trace_id = u.trace_id and r.workspace_id = ${workspaceId} and r.parent_run_id = u.span_run_id
  `.execute(sql);
  await raw`
    with moved as (
      delete from trace_parked_usage p using unnest(${traces}::uuid[], ${spans}::uuid[]) as u (trace_id, span_run_id)
      where p.run_id = u.span_run_id and p.workspace_id = ${workspaceId}
      returning u.trace_id, p.usage
    )
    insert into trace_parked_usage as p (run_id, workspace_id, usage)
    select trace_id, ${workspaceId}, usage from moved order by trace_id
    on conflict (run_id, workspace_id) do update
      set usage = array(select a + b from unnest(p.usage, excluded.usage) as sums (a, b)), received_at = now()
  `.execute(sql);
  await raw`
    with recursive tree as (
      select r.id, r.start_time, r.trace_id, r.dotted_order, '{}'::uuid[] as ancestors
      from trace_runs r where r.trace_id = any(${traces}::uuid[]) and r.id = r.trace_id and r.workspace_id = ${workspaceId}
      union all
      select c.id, c.start_time, c.trace_id, t.dotted_order || '.' || substring(c.dotted_order from '[^.]*$'),
        t.ancestors || t.id
      from tree t join trace_runs c on c.trace_id = t.trace_id and c.parent_run_id = t.id and c.workspace_id = ${workspaceId}
        and not c.id = any(t.ancestors) and cardinality(t.ancestors) < 500
    )
    update trace_runs r set dotted_order = t.dotted_order, parent_run_ids = t.ancestors,
      is_root = t.ancestors = '{}'::uuid[]
    from tree t
    where r.id = t.id and r.start_time = t.start_time and r.workspace_id = ${workspaceId}
      and (r.dotted_order, r.parent_run_ids) is distinct from (t.dotted_order, t.ancestors)
  `.execute(sql);
}
