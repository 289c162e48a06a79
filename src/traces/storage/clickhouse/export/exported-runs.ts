import { parseFilter } from "../../../filter/parse-filter.ts";
import type { ExportedField } from "../../exported-fields.ts";
import type { RunSelection } from "../../run-selection.ts";
import { timeOf } from "../filter/compile-field.ts";
import { compileFilter } from "../filter/compile-filter.ts";
import { all, type Condition, type Values } from "../filter/condition.ts";

export type ExportConditions = Pick<
  RunSelection,
  "workspaceId" | "from" | "to" | "filter" | "traceFilter"
> & {
  projectIds: readonly string[];
  after?: RunSelection["after"];
};

/** What an export asks of a row of `trace_runs`, read with `final`. */
export function exportConditions(input: ExportConditions, values: Values): Condition {
  const workspace = `workspace_id = ${values.bind(input.workspaceId, "UUID")}`;
  const time = timeOf(values);
  const [only, ...others] = input.projectIds;
  const parts = [
    workspace,
    // As an equation it leaves the rows in the order of the table.
    others.length === 0
      ? `project_id = ${values.bind(only, "UUID")}`
      : `project_id in ${values.bind(input.projectIds, "Array(UUID)")}`,
    `start_time >= ${time(input.from)}`,
    `start_time < ${time(input.to)}`,
    "not is_gone",
  ];
  if (input.after) {
    const start = time(input.after.startTime);
    // The first is redundant, but it alone leaves out parts of the table.
    parts.push(`start_time >= ${start}`);
    parts.push(`(start_time, id) > (${start}, ${values.bind(input.after.id, "UUID")})`);
  }
  const compile = (text: string, field: string) =>
    compileFilter(parseFilter(text, ["body", field]), input.workspaceId, values);
  if (input.filter !== null) parts.push(compile(input.filter, "filter"));
  if (input.traceFilter !== null) {
    const ofRoot = all([workspace, "not is_gone", "is_root", compile(input.traceFilter, "trace_filter")]);
    parts.push(`trace_id in (select trace_id from trace_runs final where ${ofRoot})`);
  }
  return all(parts);
}

/** A field of a run, of the type that is read for its kind. */
export function fieldSql({ name, kind }: ExportedField): string {
  switch (kind) {
    case "text":
      return `cast(${name}, 'Nullable(String)')`;
    case "uuid":
      return `cast(${name}, 'Nullable(UUID)')`;
    case "int64":
      return `cast(${name}, 'Nullable(Int64)')`;
    case "timestamp":
      return `cast(${name}, 'Nullable(DateTime64(6, \\'UTC\\'))')`;
    case "bool":
      return `cast(${name}, 'Nullable(Bool)')`;
    case "double":
      // By its text: the number nearest to the decimal, as PostgreSQL has it.
      return `toFloat64(toString(${name}))`;
    case "text_list":
      return `cast(${name}, 'Array(String)')`;
    case "uuid_list":
      return name;
  }
}
