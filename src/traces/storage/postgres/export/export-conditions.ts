import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { compileRunFilter } from "../filter/compile-filter.ts";

/** What the two filters of an export ask of a run `r`. */
export function filterConditions(input: {
  filter: string | null;
  traceFilter: string | null;
}): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = [];
  if (input.filter !== null) conditions.push(compileRunFilter(input.filter));
  if (input.traceFilter !== null) {
    conditions.push(raw`exists (select 1 from trace_runs root where root.trace_id = r.trace_id and root.is_root
      and root.workspace_id = r.workspace_id and ${compileRunFilter(input.traceFilter, { alias: "root" })})`);
  }
  return conditions;
}
