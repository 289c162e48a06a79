import type { RunQuery } from "../../run-query.ts";
import type { ExampleOutcome, ExampleScore, FeedbackStats } from "../../run-stats.ts";
import { Values } from "../filter/condition.ts";
import type { BoundedRows } from "./bounded-rows.ts";
import type { QueriedRuns } from "./queried-runs.ts";

/** What was given for one key: for each text, and for all that is no text. */
type Given = {
  of: string;
  key: string;
  text: string | null;
  n: number;
  scored: number;
  total: number | null;
};

const sums = `if(is_text, value_text, null) as text, count() as n, count(score) as scored, sum(score) as total`;

/** Feedback on runs in numbers, from its copy. */
export class FeedbackSums {
  readonly #rows: BoundedRows;
  readonly #runs: QueriedRuns;

  constructor(options: { rows: BoundedRows; runs: QueriedRuns }) {
    this.#rows = options.rows;
    this.#runs = options.runs;
  }

  async ofRuns(query: RunQuery): Promise<FeedbackStats> {
    const rows = await this.#runs.ask<Given>(
      query,
      (runs, values) => `select '' as of, key, ${sums} from trace_feedback final
        where ${given(query.workspaceId, values)} and run_id in (select id from ${runs})
        group by key, text order by key`,
    );
    return statsOf(rows).get("") ?? {};
  }

  /** By thread, of the roots that the query finds. */
  async ofThreads(query: RunQuery, threadIds: readonly string[]): Promise<Map<string, FeedbackStats>> {
    const rows = await this.#runs.ask<Given>(
      { ...query, isRoot: true },
      (runs, values) => `select of, key, ${sums} from trace_feedback final
        inner join (
          select id, assumeNotNull(thread_id) as of from ${runs} and thread_id in ${values.bind(threadIds, "Array(String)")}
        ) as roots on roots.id = run_id
        where ${given(query.workspaceId, values)} group by of, key, text order by key`,
    );
    return statsOf(rows);
  }

  async ofExamples(
    workspaceId: string,
    asked: { ids: readonly string[]; comparisonId: string | undefined; limit: number },
  ): Promise<{ scores: ExampleScore[]; outcomes: ExampleOutcome[] }> {
    const { ids, comparisonId, limit } = asked;
    const values = new Values();
    const experiments = values.bind(ids, "Array(UUID)");
    const roots = `select id, project_id, assumeNotNull(reference_example_id) as example, status from trace_runs final
      where workspace_id = ${values.bind(workspaceId, "UUID")} and project_id in ${experiments} and is_root
        and reference_example_id is not null and not is_gone`;
    const compared =
      comparisonId === undefined
        ? "true"
        : `ifNull(comparison_id = ${values.bind(comparisonId, "UUID")}, true)`;
    const scores = `select roots.project_id as experiment_id, roots.example as example_id, key, avg(score) as score
      from trace_feedback final inner join (${roots}) as roots on roots.id = run_id
      where ${given(workspaceId, values)} and trace_feedback.project_id in ${experiments} and score is not null and ${compared}
      group by experiment_id, example_id, key limit ${limit}`;
    const outcomes = `select roots.project_id as experiment_id, example as example_id, toBool(max(status = 'error')) as failed
      from (${roots}) as roots group by experiment_id, example_id limit ${limit}`;
    return {
      scores: await this.#rows.read<ExampleScore>(scores, values.params),
      outcomes: await this.#rows.read<ExampleOutcome>(outcomes, values.params),
    };
  }
}

const given = (workspaceId: string, values: Values) =>
  `trace_feedback.workspace_id = ${values.bind(workspaceId, "UUID")} and not is_removed`;

function statsOf(rows: readonly Given[]): Map<string, FeedbackStats> {
  const byOwner = Map.groupBy(rows, ({ of }) => of);
  return new Map(
    [...byOwner].map(([of, all]) => {
      const byKey = [...Map.groupBy(all, ({ key }) => key)];
      return [of, Object.fromEntries(byKey.map(([key, each]) => [key, oneKey(each)]))];
    }),
  );
}

function oneKey(rows: readonly Given[]): FeedbackStats[string] {
  const sum = (of: (row: Given) => number) => rows.reduce((total, row) => total + of(row), 0);
  const scored = sum((row) => row.scored);
  return {
    n: sum((row) => row.n),
    avg: scored === 0 ? null : sum((row) => row.total ?? 0) / scored,
    values: Object.fromEntries(rows.flatMap(({ text, n }) => (text === null ? [] : [[text, n]]))),
  };
}
