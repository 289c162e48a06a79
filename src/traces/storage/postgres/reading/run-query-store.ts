import type { Sql } from "../../../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { projectsOf } from "../../live-projects-store.ts";
import type { FoundRuns, Page, RunField, RunQuery } from "../../run-query.ts";
import { hasTrigrams } from "../filter/compile-field.ts";
import { requiredTrigrams } from "../filter/required-trigrams.ts";
import { isDirect, runConditions } from "./run-conditions.ts";
import { readRuns } from "./run-read-store.ts";
import { isSorted, sortedKeys } from "./sorted-runs.ts";

/** One page of runs. */
export function findRuns(
  sql: Sql,
  query: RunQuery,
  page: Page,
  fields: ReadonlySet<RunField>,
): Promise<FoundRuns> {
  const { limit } = page;
  const { workspaceId } = query;
  if (isSorted(page))
    return readRuns(sql, { keys: sortedKeys(query, page), limit, fields, workspaceId, isSorted: true });
  const order = raw.raw(page.order);
  const found = isDirect(query) ? directKeys(query, page) : projectKeys(query, page);
  const keys = raw`select found.id, found.start_time,
      row_number() over (order by found.start_time ${order}, found.id ${order}) as position
    from (${found}) found`;
  return readRuns(sql, { keys, limit, fields, workspaceId });
}

/** The runs of one trace, in the order of the tree. */
export function findTrace(
  sql: Sql,
  query: RunQuery & { traceId: string },
  limit: number,
  fields: ReadonlySet<RunField>,
): Promise<FoundRuns> {
  const keys = raw`select found.id, found.start_time, row_number() over (order by found.dotted_order) as position
    from (
      select r.id, r.start_time, r.dotted_order from trace_runs r
      where r.project_id in (${projectsOf(query)}) and ${runConditions(query)}
      order by r.dotted_order limit ${limit + 1}
    ) found`;
  return readRuns(sql, { keys, limit, fields, workspaceId: query.workspaceId });
}

/** Walks each project's runs in order and merges: an index serves one project's order, not that of several. */
function projectKeys(query: RunQuery, page: Page): RawBuilder<unknown> {
  const needed = query.filter ? requiredTrigrams(query.filter) : null;
  if (needed) return searchedKeys(query, page, needed);
  const order = raw.raw(page.order);
  return raw`select run.id, run.start_time
    from (${projectsOf(query)}) project cross join lateral (
      select r.id, r.start_time from trace_runs r
      where r.project_id = project.id and ${runConditions(query)} and ${afterCursor(page)}
      order by r.start_time ${order}, r.id ${order} limit ${page.limit + 1}
    ) run
    order by run.start_time ${order}, run.id ${order} limit ${page.limit + 1}`;
}

/**
 * For a search by words: an index holds only the trigrams of each run, so the rows of runs that cannot contain the
 * words are not read. The two offsets keep the planner from using a join where single lookups are wanted.
 */
function searchedKeys(query: RunQuery, page: Page, needed: Buffer): RawBuilder<unknown> {
  const order = raw.raw(page.order);
  const times = [
    ...(query.since ? [raw`s.start_time >= ${query.since}::timestamptz`] : []),
    ...(query.until ? [raw`s.start_time < ${query.until}::timestamptz`] : []),
    afterCursor(page, "s"),
  ];
  return raw`select run.id, run.start_time
    from (${projectsOf(query)}) project cross join lateral (
      select may.id, may.start_time
      from (
        select s.id, s.start_time, s.workspace_id from trace_runs s
        where s.project_id = project.id and ${raw.join(times, raw` and `)} and ${hasTrigrams(needed, "s")}
        order by s.start_time ${order}, s.id ${order} offset 0
      ) may
      cross join lateral (
        select from trace_runs r
        where r.id = may.id and r.start_time = may.start_time and r.workspace_id = may.workspace_id
          and r.project_id = project.id and ${runConditions(query)}
        offset 0
      ) held
      order by may.start_time ${order}, may.id ${order} limit ${page.limit + 1}
    ) run
    order by run.start_time ${order}, run.id ${order} limit ${page.limit + 1}`;
}

function directKeys(query: RunQuery, page: Page): RawBuilder<unknown> {
  const order = raw.raw(page.order);
  // The sum keeps the planner from walking a whole project in order instead of using the ids it was given.
  return raw`select r.id, r.start_time from trace_runs r
    where r.project_id in (${projectsOf(query)}) and ${runConditions(query)} and ${afterCursor(page)}
    order by r.start_time + interval '0' ${order}, r.id ${order} limit ${page.limit + 1}`;
}

function afterCursor({ after, order }: Page, alias = "r"): RawBuilder<unknown> {
  if (!after) return raw`true`;
  const comparison = order === "desc" ? raw`<` : raw`>`;
  const bound = order === "desc" ? raw`<=` : raw`>=`;
  // The first condition is redundant, but it alone lets the planner leave out partitions.
  const [start, id] = [raw.ref(`${alias}.start_time`), raw.ref(`${alias}.id`)];
  return raw`(${start} ${bound} ${after.startTime}::timestamptz
    and (${start}, ${id}) ${comparison} (${after.startTime}::timestamptz, ${after.id}::uuid))`;
}
