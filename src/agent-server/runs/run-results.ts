import { Batcher } from "../../platform/db/batch/batcher.ts";
import type { Database, Statement } from "../../platform/db/database.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import { isActive, type Run, type RunStatus } from "./run.ts";
import type { RunHolder } from "./run-holder.ts";
import { waitEnded } from "./wait-ended.ts";

type RunPlace = Pick<Run, "run_id" | "thread_id">;

type ResultRow = {
  /** Null when the run is gone. */
  status: RunStatus | null;
  error_json: string | null;
  values_json: string | null;
  interrupts_json: string | null;
};

/** Of a run that is under way only its status is read: the values of its thread may be large. */
export const findResults: Statement = {
  name: "run_results_2",
  text: `select q.ordinal::int as ordinal, r.status, r.error_json, t.values_json, t.interrupts_json
    from unnest((select $1::uuid[]), $2::uuid[]) with ordinality as q(run_id, thread_id, ordinal)
    left join lateral (select status, error_json from runs where run_id = q.run_id limit 1) r on true
    left join lateral (
      select values_json, interrupts_json from threads
      where thread_id = q.thread_id and coalesce(r.status, '') not in ('pending', 'running') limit 1
    ) t on true
    order by q.ordinal`,
};

/** What runs that are over left behind, as `wait` and `join` answer it. Those that clients wait for are read together. */
export class RunResults {
  readonly #feed: ThreadFeed;
  readonly #worker: Pick<RunHolder, "resultOf">;
  readonly #reads: Batcher<RunPlace, string | undefined>;

  constructor(options: { database: Database; feed: ThreadFeed; worker: Pick<RunHolder, "resultOf"> }) {
    this.#feed = options.feed;
    this.#worker = options.worker;
    this.#reads = new Batcher<RunPlace, string | undefined>({
      name: "run_results",
      maxRows: 100,
      flush: async (runs) => {
        const rows = await options.database.query<ResultRow>(findResults, [
          runs.map((run) => run.run_id),
          runs.map((run) => run.thread_id),
        ]);
        return rows.map(toResult);
      },
    });
  }

  /** Final values as JSON text, once the run is over, in any process; rejects when the signal fires first. */
  async wait(run: RunPlace, signal: AbortSignal): Promise<string> {
    for await (const _ of this.#feed.ends(run.thread_id, signal)) {
      await this.#worker.resultOf(run.run_id);
      const result = await this.#reads.add(run);
      if (result !== undefined) return result;
    }
    throw waitEnded(run.run_id);
  }
}

/** Undefined while the run is under way. */
function toResult(row: ResultRow): string | undefined {
  if (row.status !== null && isActive(row.status)) return undefined;
  if (row.error_json) return `{"__error__":${row.error_json}}`;
  if (row.interrupts_json === null || row.interrupts_json === "{}") return row.values_json ?? "{}";
  const interrupts = Object.values(JSON.parse(row.interrupts_json) as Record<string, unknown[]>).flat();
  return JSON.stringify({ ...JSON.parse(row.values_json ?? "{}"), __interrupt__: interrupts });
}
