import type { Page, SortField } from "../../run-query.ts";
import { latency, timeOf } from "../filter/compile-field.ts";
import type { Condition, Values } from "../filter/condition.ts";
import { timeText } from "./run-field-sql.ts";

type SortColumn = { sql: string; type: "String" | "Float64" };

const columns: Record<Exclude<SortField, "start_time">, SortColumn> = {
  name: { sql: "toString(name)", type: "String" },
  status: { sql: "toString(status)", type: "String" },
  latency: { sql: latency, type: "Float64" },
  total_tokens: { sql: "toFloat64(total_tokens)", type: "Float64" },
  total_cost: { sql: "toFloat64(total_cost)", type: "Float64" },
};

/** As PostgreSQL and JavaScript write it: cursors of both engines are read alike. */
const numberText = (number: string) =>
  `multiIf(${number} = inf, 'Infinity', ${number} = -inf, '-Infinity', toString(${number}))`;

export type Key = { id: string; start_time: string; sort_key?: string };

/** The first rows of a project in the order of a page, whatever run they are of. */
export type NearRows = { scope: Condition; limit: number };

const sortOf = ({ sort = "start_time" }: Page) => sort;

export const isByStart = (page: Page) => sortOf(page) === "start_time";

const firstByStart = ({ order }: Page, limit: number) =>
  `order by start_time ${order}, id ${order} limit ${limit}`;

const selected = `toString(id) as found_id, ${timeText("start_time")} as found_start`;

/** The keys of the first rows behind a place that meet a condition, whatever run they are of. */
export function keysOfRows(condition: Condition, page: Page, values: Values, limit: number): string {
  return `select ${selected} from trace_runs where ${condition} and ${behindByStart(page, values)} ${firstByStart(page, limit)}`;
}

/** The keys of one page and one more, of runs whose keys are known: payloads are read of these alone, and other indexes say nothing more. */
export function keysAmong(known: Condition, conditions: Condition, page: Page, values: Values): string {
  return `select ${selected} from trace_runs final prewhere ${known} where ${conditions} and ${behindByStart(page, values)}
    ${firstByStart(page, page.limit + 1)} settings use_skip_indexes = 0`;
}

/** The first condition is redundant, but it alone leaves out parts and partitions. */
function behindByStart({ after, order }: Page, values: Values): Condition {
  if (!after) return "true";
  const sign = order === "desc" ? "<" : ">";
  const start = timeOf(values)(after.startTime);
  return `start_time ${sign}= ${start} and (start_time, id) ${sign} (${start}, ${values.bind(after.id, "UUID")})`;
}

/**
 * The keys of one page and one more, in order. Ids are in ClickHouse's order of them, which is not that of their text. With `near` only
 * runs among so many rows are found, and each says whether there are no others.
 */
export function keysOfPage(conditions: Condition, page: Page, values: Values, near?: NearRows): string {
  const { after, order } = page;
  const sort = sortOf(page);
  if (sort === "start_time") {
    const behind = behindByStart(page, values);
    const end = firstByStart(page, page.limit + 1);
    if (!near) return `select ${selected} from trace_runs final where ${conditions} and ${behind} ${end}`;
    const [last, within] = order === "desc" ? ["min", ">="] : ["max", "<="];
    return `with (select (${last}(start_time), count()) from (
        select start_time from trace_runs where ${near.scope} and ${behind} order by start_time ${order} limit ${near.limit}
      )) as near
      select ${selected}, near.2 < ${near.limit} as is_whole from trace_runs final
      where ${conditions} and ${behind} and start_time ${within} near.1 ${end}`;
  }
  const { sql, type } = columns[sort];
  // What has no value comes last.
  const key = type === "String" ? sql : `ifNull(${sql}, ${order === "desc" ? "-inf" : "inf"})`;
  const from = after && [
    values.bind(type === "String" ? (after.key ?? "") : Number(after.key), type),
    timeOf(values)(after.startTime),
    values.bind(after.id, "UUID"),
  ];
  const behind = from ? `(${key}, start_time, id) ${order === "desc" ? "<" : ">"} (${from})` : "true";
  return `select ${selected}, ${type === "String" ? key : numberText(key)} as sort_key from trace_runs final where ${conditions} and ${behind}
    order by ${key} ${order}, start_time ${order}, id ${order} limit ${page.limit + 1}`;
}
