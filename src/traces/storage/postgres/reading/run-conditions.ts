import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import type { RunQuery } from "../../run-query.ts";
import { compileFilter } from "../filter/compile-filter.ts";

type Condition = RawBuilder<unknown>;

/** Everything a query asks of a run `r`, but for the projects it may be in, which are what bounds it to the workspace. */
export function runConditions(query: RunQuery): Condition {
  const parts: Condition[] = [raw`true`];
  const add = (condition: Condition) => parts.push(condition);
  if (query.ids) add(raw`r.id = any(${query.ids}::uuid[])`);
  if (query.traceId) add(raw`r.trace_id = ${query.traceId}::uuid`);
  if (query.parentRunId) add(raw`r.parent_run_id = ${query.parentRunId}::uuid`);
  if (query.exampleIds) add(raw`r.reference_example_id = any(${query.exampleIds}::uuid[])`);
  if (query.runType) add(raw`r.run_type = ${query.runType}`);
  if (query.isRoot !== undefined) add(query.isRoot ? raw`r.is_root` : raw`not r.is_root`);
  if (query.hasError !== undefined) add(query.hasError ? raw`r.status = 'error'` : raw`r.status <> 'error'`);
  if (query.executionOrder !== undefined) add(raw`r.execution_order = ${query.executionOrder}`);
  if (query.since) add(raw`r.start_time >= ${query.since}::timestamptz`);
  if (query.until) add(raw`r.start_time < ${query.until}::timestamptz`);
  if (query.filter) add(compileFilter(query.filter, { alias: "r" }));
  if (query.traceFilter) add(traceCondition(query));
  if (query.treeFilter) add(treeCondition(query));
  return raw.join(parts, raw` and `);
}

/** A root run is its own trace's root: no need to look for it again. */
function traceCondition({ traceFilter, isRoot }: RunQuery): Condition {
  if (isRoot) return compileFilter(traceFilter!, { alias: "r" });
  return raw`exists (select 1 from trace_runs root where root.trace_id = r.trace_id and root.is_root
    and root.workspace_id = r.workspace_id and ${compileFilter(traceFilter!, { alias: "root" })})`;
}

function treeCondition({ treeFilter }: RunQuery): Condition {
  return raw`exists (select 1 from trace_runs member where member.trace_id = r.trace_id
    and member.workspace_id = r.workspace_id and ${compileFilter(treeFilter!, { alias: "member" })})`;
}

/** Whether a query names its runs by an indexed id, so that it need not walk a project's runs in order. */
export function isDirect(query: RunQuery): boolean {
  return [query.ids, query.traceId, query.exampleIds].some((named) => named !== undefined);
}
