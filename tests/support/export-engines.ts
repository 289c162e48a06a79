import type { RunSource } from "../../src/bulk-export/partitions/run-source.ts";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { tagTerm } from "../../src/traces/runs/term.ts";
import type { StoredRun } from "./exported-runs.ts";

/** A source of exports that is another one from one export to the next. */
export class SwitchedSource implements RunSource {
  #current: RunSource | undefined;

  use(source: RunSource): void {
    this.#current = source;
  }

  checkFilter(...given: Parameters<RunSource["checkFilter"]>) {
    this.#source.checkFilter(...given);
  }

  projectExists(...given: Parameters<RunSource["projectExists"]>) {
    return this.#source.projectExists(...given);
  }

  listExperiments(workspaceId: string) {
    return this.#source.listExperiments(workspaceId);
  }

  listDays(...given: Parameters<RunSource["listDays"]>) {
    return this.#source.listDays(...given);
  }

  countRuns(...given: Parameters<RunSource["countRuns"]>) {
    return this.#source.countRuns(...given);
  }

  selectRuns(...given: Parameters<RunSource["selectRuns"]>) {
    return this.#source.selectRuns(...given);
  }

  get engine() {
    return this.#source.engine;
  }

  get #source(): RunSource {
    if (this.#current === undefined) throw new Error("No source was chosen.");
    return this.#current;
  }
}

/** The rows of these runs in ClickHouse: each twice, first in an earlier state, and once where it does not begin any more. */
export async function storeInClickHouse(
  clickHouse: ClickHouse,
  place: { workspaceId: string; projectId: string },
  runs: readonly StoredRun[],
): Promise<void> {
  await clickHouse.run("system stop merges trace_runs");
  const rows = runs.map((run) => rowOf(place, run));
  const earlier = rows.map((row) => ({
    ...row,
    name: "earlier",
    status: "earlier",
    tags: ["earlier"],
    ended: [],
  }));
  await clickHouse.insert("trace_runs", earlier);
  await clickHouse.insert("trace_runs", rows);
  const moved = rows.slice(0, 1).map((row) => ({ ...row, start_time: "2024-02-29T05:00:00Z" }));
  await clickHouse.insert("trace_runs", moved);
  await clickHouse.insert(
    "trace_runs",
    moved.map((row) => ({ ...row, is_gone: true })),
  );
}

const some = <T>(value: T | null) => (value === null ? [] : [value]);

function rowOf({ workspaceId, projectId }: { workspaceId: string; projectId: string }, run: StoredRun) {
  const { parent_run_id: _, reference_example_id, end_time, first_token_time, error, ...columns } = run;
  const { prompt_cost, completion_cost, total_cost, ...rest } = columns;
  return {
    ...rest,
    ...{ workspace_id: workspaceId, project_id: projectId, metadata: "{}", terms: run.tags.map(tagTerm) },
    ...{ reference_example: some(reference_example_id), ended: some(end_time) },
    ...{ first_token: some(first_token_time), failure: some(error) },
    costs: [prompt_cost, completion_cost, total_cost].map((cost) =>
      cost === null ? null : cost.toFixed(18).replace(/0+$/, "0"),
    ),
  };
}
