import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { runFieldSql } from "../runs/run.ts";
import { isDirect, projectsOf, runConditions } from "./run-conditions.ts";
import type { Page, RunField, RunQuery, RunRow } from "./run-query.ts";

/**
 * One page of runs and one more. The page's keys are found first and the asked columns read for those alone,
 * so that no payload passes through a sort.
 */
export async function findRuns(
  sql: Sql,
  query: RunQuery,
  page: Page,
  fields: ReadonlySet<RunField>,
): Promise<RunRow[]> {
  const order = raw.raw(page.order);
  const keys = isDirect(query) ? directKeys(query, page) : projectKeys(query, page);
  const { rows } =
    await raw<RunRow>`with page as materialized (${keys})${feedbackOfPage(fields, query.workspaceId)}
    select ${selectList(fields)} from page
    join trace_runs r on r.id = page.id and r.start_time = page.start_time
      and r.workspace_id = ${query.workspaceId}
    ${feedbackJoin(fields)}
    order by page.start_time ${order}, page.id ${order}`.execute(sql);
  return rows;
}

/** Walks each project's runs in order and merges: an index serves one project's order, not that of several. */
function projectKeys(query: RunQuery, page: Page): RawBuilder<unknown> {
  const order = raw.raw(page.order);
  return raw`select found.id, found.start_time
    from (${projectsOf(query)}) project cross join lateral (
      select r.id, r.start_time from trace_runs r
      where r.project_id = project.id and ${runConditions(query)} and ${afterCursor(page)}
      order by r.start_time ${order}, r.id ${order} limit ${page.limit + 1}
    ) found
    order by found.start_time ${order}, found.id ${order} limit ${page.limit + 1}`;
}

function directKeys(query: RunQuery, page: Page): RawBuilder<unknown> {
  const order = raw.raw(page.order);
  // The sum keeps the planner from walking a whole project in order instead of using the ids it was given.
  return raw`select r.id, r.start_time from trace_runs r
    where r.project_id in (${projectsOf(query)}) and ${runConditions(query)} and ${afterCursor(page)}
    order by r.start_time + interval '0' ${order}, r.id ${order} limit ${page.limit + 1}`;
}

function afterCursor({ after, order }: Page): RawBuilder<unknown> {
  if (!after) return raw`true`;
  const comparison = order === "desc" ? raw`<` : raw`>`;
  const bound = order === "desc" ? raw`<=` : raw`>=`;
  // Said twice: the first alone lets the planner leave out partitions.
  return raw`(r.start_time ${bound} ${after.startTime}::timestamptz
    and (r.start_time, r.id) ${comparison} (${after.startTime}::timestamptz, ${after.id}::uuid))`;
}

/** The runs of one trace in the order of the tree, up to `limit`. */
export async function findTrace(
  sql: Sql,
  query: RunQuery & { traceId: string },
  limit: number,
  fields: ReadonlySet<RunField>,
): Promise<RunRow[]> {
  const { rows } = await raw<RunRow>`with page as materialized (
      select r.id, r.start_time, r.dotted_order from trace_runs r
      where r.project_id in (${projectsOf(query)}) and ${runConditions(query)}
      order by r.dotted_order limit ${limit}
    )${feedbackOfPage(fields, query.workspaceId)}
    select ${selectList(fields)} from page
    join trace_runs r on r.id = page.id and r.start_time = page.start_time
      and r.workspace_id = ${query.workspaceId}
    ${feedbackJoin(fields)}
    order by page.dotted_order`.execute(sql);
  return rows;
}

/** Names of columns are the code's own; `id` and `start_time` are always read, for the cursor. */
function selectList(fields: ReadonlySet<RunField>): RawBuilder<unknown> {
  const names = [...new Set<RunField>(["id", "start_time", ...fields])];
  return raw.join(names.map((name) => raw.raw(`${expressionOf(name)} as ${name}`)));
}

function expressionOf(field: RunField): string {
  return field === "metadata" ? "r.metadata::text" : runFieldSql(field, "r");
}

/**
 * The feedback of the page's runs alone: the list of ids reaches the index, where a join condition would not
 * pass through the view's grouping; and it is summed up once, not once per run.
 */
function feedbackOfPage(fields: ReadonlySet<RunField>, workspaceId: string): RawBuilder<unknown> {
  if (!fields.has("feedback_stats")) return raw``;
  return raw`, feedback as materialized (
    select s.run_id, s.feedback_stats from trace_feedback_stats s
    where s.run_id = any(array(select id from page)) and s.workspace_id = ${workspaceId})`;
}

function feedbackJoin(fields: ReadonlySet<RunField>): RawBuilder<unknown> {
  return fields.has("feedback_stats") ? raw`left join feedback f on f.run_id = r.id` : raw``;
}
