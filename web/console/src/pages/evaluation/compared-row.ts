import { isSameValue } from "./score-change.ts";

type Stats = Record<string, { n: number; avg: number | null }> | null | undefined;
export type ExperimentRun = {
  id: string;
  project_id: string;
  outputs?: unknown;
  error?: string | null;
  status: string;
  latency_seconds: number | null;
  total_cost: number | null;
  feedback_stats?: Stats;
};
export type ExampleWithRuns = { id: string; inputs?: unknown; outputs?: unknown; runs: ExperimentRun[] };

/** What one experiment made of one example. */
export type Outcome = {
  experimentId: string;
  runs: ExperimentRun[];
  /** The means over its runs. */
  scores: Readonly<Record<string, number>>;
  hasFailed: boolean;
  /** Whether it is another output than the first experiment's; null where there is nothing to compare with. */
  hasChanged: boolean | null;
};

export function outcomesOf(example: ExampleWithRuns, experimentIds: readonly string[]): Outcome[] {
  const outcomes = experimentIds.map((experimentId): Outcome => {
    const runs = example.runs.filter((run) => run.project_id === experimentId);
    return {
      experimentId,
      runs,
      scores: meansOf(runs),
      hasFailed: runs.some(({ error }) => Boolean(error)),
      hasChanged: null,
    };
  });
  const [baseline] = outcomes;
  return outcomes.map((outcome, index) => ({
    ...outcome,
    hasChanged:
      index === 0 || !baseline?.runs[0] || !outcome.runs[0]
        ? null
        : !isSameValue(outcome.runs[0].outputs, baseline.runs[0].outputs),
  }));
}

/** As the server counts it: every score that was given counts once. */
function meansOf(runs: readonly ExperimentRun[]): Record<string, number> {
  const sums = new Map<string, { sum: number; n: number }>();
  for (const { feedback_stats } of runs)
    for (const [key, { avg, n }] of Object.entries(feedback_stats ?? {})) {
      if (avg === null) continue;
      const known = sums.get(key) ?? { sum: 0, n: 0 };
      sums.set(key, { sum: known.sum + avg * n, n: known.n + n });
    }
  return Object.fromEntries([...sums].sort().map(([key, { sum, n }]) => [key, sum / n]));
}
