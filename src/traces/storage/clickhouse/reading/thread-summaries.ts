import { previewChars, type RunQuery } from "../../run-query.ts";
import type { ThreadPage, ThreadSummary } from "../../run-stats.ts";
import { latency, timeOf } from "../filter/compile-field.ts";
import type { Values } from "../filter/condition.ts";
import type { QueriedRuns } from "./queried-runs.ts";
import { timeText } from "./run-field-sql.ts";
import { percentiles, sumsOfRoots } from "./run-sums.ts";

type Numbers = Pick<ThreadSummary, "total_tokens" | "total_cost" | "latency_p50" | "latency_p99">;
type Turns = Numbers & {
  of: string;
  turns: number;
  errors: number;
  first_start: string;
  last_start: string;
  first_run: string;
  last_run: string;
  last_failed: string;
};
type Preview = { run: string; inputs: string | null; outputs: string | null; error: string | null };

/** Conversations: the numbers of a page of them first, so that no payload passes through a sort. */
export class ThreadSummaries {
  readonly #runs: QueriedRuns;

  constructor(runs: QueriedRuns) {
    this.#runs = runs;
  }

  async list(query: RunQuery, page: ThreadPage): Promise<ThreadSummary[]> {
    const roots = { ...query, isRoot: true };
    const found = await this.#runs.ask<Turns>(roots, (runs, values) => pageSql(runs, page, values));
    if (found.length === 0) return [];
    const previews = await this.#previews(query, found);
    // A run that was removed between the two statements has nothing to show.
    return found.map((each) => ({
      ...{ thread_id: each.of, count: each.turns, num_errored_turns: each.errors },
      ...{ min_start_time: each.first_start, max_start_time: each.last_start },
      ...{ total_tokens: each.total_tokens, total_cost: each.total_cost },
      ...{ latency_p50: each.latency_p50, latency_p99: each.latency_p99 },
      first_trace_id: each.first_run,
      first_inputs: previews.get(each.first_run)?.inputs ?? null,
      last_trace_id: each.last_run,
      last_outputs: previews.get(each.last_run)?.outputs ?? null,
      last_error: each.errors === 0 ? null : (previews.get(each.last_failed)?.error ?? null),
    }));
  }

  async #previews({ workspaceId, projectIds }: RunQuery, page: Turns[]): Promise<Map<string, Preview>> {
    const shown = (field: string) => `substringUTF8(${field}, 1, ${previewChars})`;
    const ids = page.flatMap((each) => [
      ...[each.first_run, each.last_run],
      ...(each.errors === 0 ? [] : [each.last_failed]),
    ]);
    const starts = page.flatMap((each) => [each.first_start, each.last_start]).sort();
    const rows = await this.#runs.ask<Preview>(
      { workspaceId, projectIds, ids, since: starts[0] },
      (runs, values) => `select toString(id) as run, ${shown("trace_runs.inputs")} as inputs,
        ${shown("trace_runs.outputs")} as outputs, ${shown("trace_runs.error")} as error
        from ${runs} and start_time <= ${timeOf(values)(starts.at(-1)!)}`,
    );
    return new Map(rows.map((row) => [row.run, row]));
  }
}

function pageSql(runs: string, { limit, after, offset = 0 }: ThreadPage, values: Values): string {
  const thread = "assumeNotNull(thread_id)";
  // The text of an id, since ClickHouse orders ids by their second half.
  const earliest = "(start_time, toString(id))";
  const latest = "(-toUnixTimestamp64Micro(start_time), toString(id))";
  const behind = after
    ? `having (max(start_time), of) < (${timeOf(values)(after.startTime)}, ${values.bind(after.threadId, "String")})`
    : "";
  return `select ${thread} as of, count() as turns, countIf(status = 'error') as errors,
      ${timeText("min(start_time)")} as first_start, ${timeText("max(start_time)")} as last_start,
      toString(argMin(id, ${earliest})) as first_run, toString(argMin(id, ${latest})) as last_run,
      toString(argMinIf(id, ${latest}, status = 'error')) as last_failed,
      ${sumsOfRoots}, ${percentiles("latency", latency)}
    from ${runs} and thread_id is not null group by of ${behind}
    order by max(start_time) desc, of desc limit ${limit + 1} offset ${offset}`;
}
