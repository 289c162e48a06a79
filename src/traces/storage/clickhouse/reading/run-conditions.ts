import type { Filter } from "../../../filter/filter.ts";
import type { RunQuery } from "../../run-query.ts";
import { timeOf } from "../filter/compile-field.ts";
import { compileFilter } from "../filter/compile-filter.ts";
import { all, type Condition, type Values } from "../filter/condition.ts";

/** Where all rows of the runs are that a query finds: asked of the table's key alone. Rows of one project are in order. */
export function placeConditions(query: RunQuery, projectIds: readonly string[], values: Values): Condition {
  const scope = [
    `workspace_id = ${values.bind(query.workspaceId, "UUID")}`,
    projectIds.length === 1
      ? `project_id = ${values.bind(projectIds[0], "UUID")}`
      : `project_id in ${values.bind(projectIds, "Array(UUID)")}`,
  ];
  return all([...scope, ...timeConditions(query, values)]);
}

function timeConditions(query: RunQuery, values: Values): Condition[] {
  const time = timeOf(values);
  return [
    ...(query.since ? [`start_time >= ${time(query.since)}`] : []),
    ...(query.until ? [`start_time < ${time(query.until)}`] : []),
  ];
}

/** Everything a query asks of a row of `trace_runs`, which must be read with `final`: rows before it are of earlier states. */
export function runConditions(query: RunQuery, projectIds: readonly string[], values: Values): Condition {
  const workspace = `workspace_id = ${values.bind(query.workspaceId, "UUID")}`;
  const parts = [workspace, `project_id in ${values.bind(projectIds, "Array(UUID)")}`, "not is_gone"];
  const add = (condition: Condition) => parts.push(condition);
  const compile = (filter: Filter) => compileFilter(filter, query.workspaceId, values);
  if (query.ids) add(`id in ${values.bind(query.ids, "Array(UUID)")}`);
  if (query.traceId) add(`trace_id = ${values.bind(query.traceId, "UUID")}`);
  if (query.parentRunId) add(`parent_run_id = ${values.bind(query.parentRunId, "UUID")}`);
  if (query.exampleIds) add(`reference_example_id in ${values.bind(query.exampleIds, "Array(UUID)")}`);
  if (query.runType) add(`run_type = ${values.bind(query.runType, "String")}`);
  if (query.isRoot !== undefined) add(query.isRoot ? "is_root" : "not is_root");
  if (query.hasError !== undefined) add(query.hasError ? "status = 'error'" : "status != 'error'");
  if (query.executionOrder !== undefined)
    add(`execution_order = ${values.bind(query.executionOrder, "Int32")}`);
  parts.push(...timeConditions(query, values));
  if (query.filter) add(compile(query.filter));
  if (query.traceFilter && query.isRoot) add(compile(query.traceFilter));
  else if (query.traceFilter) add(ofTraces(["is_root", compile(query.traceFilter)]));
  if (query.treeFilter) add(ofTraces([compile(query.treeFilter)]));
  return all(parts);

  function ofTraces(conditions: Condition[]): Condition {
    return `trace_id in (select trace_id from trace_runs final where ${all([workspace, "not is_gone", ...conditions])})`;
  }
}
