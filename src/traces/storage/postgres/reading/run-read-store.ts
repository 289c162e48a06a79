import type { Sql } from "../../../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import {
  type FoundRuns,
  maxPageBytes,
  maxTailedBytes,
  payloadFields,
  previewChars,
  type RunField,
  type RunRow,
  tailChars,
} from "../../run-query.ts";
import { runFieldSql } from "./run-field-sql.ts";

export type ReadRuns = {
  /** Gives `id`, `start_time` and `position` of the runs, in order and one more than `limit` if there is more. */
  keys: RawBuilder<unknown>;
  limit: number;
  fields: ReadonlySet<RunField>;
  workspaceId: string;
  /** The keys have a `sort_key`, which comes before the start in their order. */
  isSorted?: boolean;
};

/**
 * Reads the asked columns of runs whose keys were found before, so that no payload passes through a sort.
 * Stops at the limit, or earlier where the payloads grow too large; one run always fits.
 */
export async function readRuns(sql: Sql, read: ReadRuns): Promise<FoundRuns> {
  const { fields } = read;
  const sortKey = read.isSorted ? raw`, page.sort_key` : raw``;
  const { rows } = await raw<
    RunRow & { found: number; sort_key?: string }
  >`with keys as materialized (${read.keys}),
    page as materialized (${pageOf(read)})${feedbackOfPage(read)}
    select ${selectList(fields)}${sortKey}, (select count(*)::int from keys) as found
    from page ${joinRun(raw`page`, read)}
    ${fields.has("feedback_stats") ? raw`left join feedback f on f.run_id = r.id` : raw``}
    order by page.position`.execute(sql);
  const found = rows[0]?.found ?? 0;
  const last = rows.at(-1);
  if (!last || found <= rows.length) return { rows, next: null };
  const { start_time: startTime, id, sort_key: key } = last;
  return { rows, next: { startTime, id, ...(key !== undefined && { key }) } };
}

function joinRun(keys: RawBuilder<unknown>, { workspaceId }: ReadRuns): RawBuilder<unknown> {
  return raw`join trace_runs r on r.id = ${keys}.id and r.start_time = ${keys}.start_time
    and r.workspace_id = ${workspaceId}`;
}

function pageOf(read: ReadRuns): RawBuilder<unknown> {
  const payloads = payloadFields.filter((field) => read.fields.has(field));
  if (payloads.length === 0) return raw`select * from keys where position <= ${read.limit}`;
  // The length of a payload is known without reading it.
  const sizes = payloads.map((field) => raw`coalesce(octet_length(${raw.ref(`r.${field}`)}), 0)`);
  return raw`select id, start_time, position${read.isSorted ? raw`, sort_key` : raw``} from (
      select keys.*, sum(size) over (order by keys.position) - size as bytes_before
      from keys ${joinRun(raw`keys`, read)}
      cross join lateral (select ${raw.join(sizes, raw` + `)} as size) s
    ) sized
    where bytes_before < ${maxPageBytes} and position <= ${read.limit}`;
}

/** Names of columns are the code's own; `id` and `start_time` are always read, for the cursor. */
function selectList(fields: ReadonlySet<RunField>): RawBuilder<unknown> {
  const names = [...new Set<RunField>(["id", "start_time", ...fields])];
  return raw.join(names.map((name) => raw.raw(`${expressionOf(name)} as ${name}`)));
}

function expressionOf(field: RunField): string {
  switch (field) {
    case "metadata":
      return "r.metadata::text";
    case "outputs_tail":
      return `case when octet_length(r.outputs) <= ${maxTailedBytes} then right(r.outputs, ${tailChars}) end`;
    case "inputs_preview":
    case "outputs_preview":
    case "error_preview":
      return `left(r.${field.replace("_preview", "")}, ${previewChars})`;
    default:
      return runFieldSql(field, "r");
  }
}

/**
 * The feedback of the page's runs alone: the list of ids reaches the index, where a join condition would not
 * pass through the view's grouping; and it is summed up once, not once per run.
 */
function feedbackOfPage({ fields, workspaceId }: ReadRuns): RawBuilder<unknown> {
  if (!fields.has("feedback_stats")) return raw``;
  return raw`, feedback as materialized (
    select s.run_id, s.feedback_stats from trace_feedback_stats s
    where s.run_id = any(array(select id from page)) and s.workspace_id = ${workspaceId})`;
}
