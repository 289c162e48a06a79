import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { projectsOf } from "../../live-projects-store.ts";
import type { Page, RunQuery, SortField } from "../../run-query.ts";
import { runConditions } from "./run-conditions.ts";

type SortedPage = Page & { sort: Exclude<SortField, "start_time"> };
type Type = "text" | "float8";

/**
 * All of these columns are in `trace_runs_by_project`, so that a project's runs are sorted without a look at their rows.
 * An index per column would make that faster still, and every run that is sent slower.
 */
const columns: Record<SortedPage["sort"], { sql: string; type: Type }> = {
  name: { sql: "r.name", type: "text" },
  status: { sql: "r.status", type: "text" },
  latency: { sql: "extract(epoch from r.end_time - r.start_time)::float8", type: "float8" },
  total_tokens: { sql: "r.total_tokens::float8", type: "float8" },
  total_cost: { sql: "r.total_cost::float8", type: "float8" },
};

export function isSorted(page: Page): page is SortedPage {
  return page.sort !== undefined && page.sort !== "start_time";
}

/** The keys of a page of runs: `id`, `start_time`, `sort_key` and their `position`. What has no value comes last. */
export function sortedKeys(query: RunQuery, page: SortedPage): RawBuilder<unknown> {
  const order = raw.raw(page.order);
  const { sql, type } = columns[page.sort];
  const last = page.order === "desc" ? "-infinity" : "infinity";
  const key = raw.raw(type === "text" ? sql : `coalesce(${sql}, '${last}'::float8)`);
  // By bytes: the order of names must be that of the comparison with the cursor, for any collation of the database.
  const ordered = type === "text" ? raw`${key} collate "C"` : key;
  const comparison = raw.raw(page.order === "desc" ? "<" : ">");
  const { after } = page;
  const behind = after
    ? raw`(${ordered}, r.start_time, r.id) ${comparison} (${after.key ?? ""}::${raw.raw(type)}, ${after.startTime}::timestamptz, ${after.id}::uuid)`
    : raw`true`;
  const within = raw`${raw.raw(type === "text" ? 'run.sort_key collate "C"' : "run.sort_key")} ${order}, run.start_time ${order}, run.id ${order}`;
  return raw`select run.id, run.start_time, run.sort_key::text as sort_key, row_number() over (order by ${within}) as position
    from (${projectsOf(query)}) project cross join lateral (
      select r.id, r.start_time, ${key} as sort_key from trace_runs r
      where r.project_id = project.id and ${runConditions(query)} and ${behind}
      order by ${ordered} ${order}, r.start_time ${order}, r.id ${order} limit ${page.limit + 1}
    ) run
    order by ${within} limit ${page.limit + 1}`;
}
