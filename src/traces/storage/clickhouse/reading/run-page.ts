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

/** The keys of one page and one more, in order. Ids are in ClickHouse's order of them, which is not that of their text. */
export function keysOfPage(conditions: Condition, page: Page, values: Values): string {
  const { after, order } = page;
  const sign = order === "desc" ? "<" : ">";
  const place = after && [timeOf(values)(after.startTime), values.bind(after.id, "UUID")];
  const selected = `toString(id) as found_id, ${timeText("start_time")} as found_start`;
  if (page.sort === undefined || page.sort === "start_time") {
    // The first condition is redundant, but it alone leaves out parts and partitions.
    const behind = place ? `start_time ${sign}= ${place[0]} and (start_time, id) ${sign} (${place})` : "true";
    return `select ${selected} from trace_runs final where ${conditions} and ${behind}
      order by start_time ${order}, id ${order} limit ${page.limit + 1}`;
  }
  const { sql, type } = columns[page.sort];
  // What has no value comes last.
  const key = type === "String" ? sql : `ifNull(${sql}, ${order === "desc" ? "-inf" : "inf"})`;
  const from = place && [
    values.bind(type === "String" ? (after?.key ?? "") : Number(after?.key), type),
    ...place,
  ];
  const behind = from ? `(${key}, start_time, id) ${sign} (${from})` : "true";
  return `select ${selected}, ${type === "String" ? key : numberText(key)} as sort_key from trace_runs final where ${conditions} and ${behind}
    order by ${key} ${order}, start_time ${order}, id ${order} limit ${page.limit + 1}`;
}
