import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

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
 * Makes whole what came in pieces: children that knew their root only by its span id point to its run, and
 * places and totals of every run below the root follow from the tree.
 */
export async function relinkTraces(
  sql: Sql,
  workspaceId: string,
  roots: readonly { traceId: string; spanRunId: string }[],
): Promise<void> {
  const traces = roots.map((root) => root.traceId);
  const spans = roots.map((root) => root.spanRunId);
  await raw`
    update trace_runs r set parent_run_id = u.trace_id
    from unnest(${traces}::uuid[], ${spans}::uuid[]) as u (trace_id, span_run_id)
    where r.trace_id = u.trace_id and r.workspace_id = ${workspaceId} and r.parent_run_id = u.span_run_id
  `.execute(sql);
  await raw`
    with recursive tree as (
      select r.id, r.start_time, r.trace_id, r.dotted_order, '{}'::uuid[] as ancestors, r.usage
      from trace_runs r where r.trace_id = any(${traces}::uuid[]) and r.id = r.trace_id and r.workspace_id = ${workspaceId}
      union all
      select c.id, c.start_time, c.trace_id, t.dotted_order || '.' || substring(c.dotted_order from '[^.]*$'),
        t.ancestors || t.id, c.usage
      from tree t join trace_runs c on c.trace_id = t.trace_id and c.parent_run_id = t.id and c.workspace_id = ${workspaceId}
        and not c.id = any(t.ancestors) and cardinality(t.ancestors) < 500
    ), spent as (
      select a.id, sum(t.usage[1])::bigint as prompt, sum(t.usage[2])::bigint as completion, sum(t.usage[3])::bigint as total,
        sum(t.usage[4]) as prompt_cost, sum(t.usage[5]) as completion_cost, sum(t.usage[6]) as total_cost
      from tree t cross join lateral unnest(t.ancestors || t.id) as a (id) where t.usage is not null group by a.id
    )
    update trace_runs r set dotted_order = t.dotted_order, parent_run_ids = t.ancestors,
      is_root = t.ancestors = '{}'::uuid[],
      prompt_tokens = coalesce(s.prompt, 0), completion_tokens = coalesce(s.completion, 0), total_tokens = coalesce(s.total, 0),
      prompt_cost = s.prompt_cost, completion_cost = s.completion_cost, total_cost = s.total_cost
    from tree t left join spent s on s.id = t.id
    where r.id = t.id and r.start_time = t.start_time and r.workspace_id = ${workspaceId}
      and (r.dotted_order, r.parent_run_ids, r.total_tokens) is distinct from
        (t.dotted_order, t.ancestors, coalesce(s.total, 0))
  `.execute(sql);
}
