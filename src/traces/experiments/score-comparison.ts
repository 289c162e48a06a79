import type { ExampleOutcome, ExampleScore } from "../storage/run-stats.ts";

export type KeyComparison = {
  key: string;
  lower_is_better: boolean;
  experiments: {
    experiment_id: string;
    avg: number | null;
    n: number;
    better: number;
    worse: number;
    same: number;
  }[];
};

export type ScoreComparison = {
  keys: KeyComparison[];
  /** Examples of which some score went down, or a run failed that did not before. */
  worse: string[];
  /** Examples of which some score went up and none down. */
  better: string[];
};

/** Scores of averages differ in their last digits without meaning it. */
const epsilon = 1e-9;

/** Every experiment is compared with the first, example by example. */
export function compareScores(
  experimentIds: readonly string[],
  scores: readonly ExampleScore[],
  outcomes: readonly ExampleOutcome[],
  lowerIsBetter: ReadonlySet<string>,
): ScoreComparison {
  const [baseline] = experimentIds;
  const worse = new Set<string>();
  const better = new Set<string>();
  const keys = [...new Set(scores.map(({ key }) => key))].sort();
  const compared = keys.map((key): KeyComparison => {
    const ofKey = scores.filter((each) => each.key === key);
    const before = new Map(
      ofKey.filter((each) => each.experiment_id === baseline).map((each) => [each.example_id, each.score]),
    );
    const sign = lowerIsBetter.has(key) ? -1 : 1;
    const experiments = experimentIds.map((experimentId) => {
      const own = ofKey.filter((each) => each.experiment_id === experimentId);
      const counts = { better: 0, worse: 0, same: 0 };
      for (const { example_id, score } of experimentId === baseline ? [] : own) {
        const was = before.get(example_id);
        if (was === undefined) continue;
        const change = sign * (score - was);
        const verdict = change > epsilon ? "better" : change < -epsilon ? "worse" : "same";
        counts[verdict] += 1;
        if (verdict === "worse") worse.add(example_id);
        if (verdict === "better") better.add(example_id);
      }
      const avg = own.length === 0 ? null : own.reduce((sum, { score }) => sum + score, 0) / own.length;
      return { experiment_id: experimentId, avg, n: own.length, ...counts };
    });
    return { key, lower_is_better: lowerIsBetter.has(key), experiments };
  });
  for (const exampleId of newlyFailed(baseline, outcomes)) worse.add(exampleId);
  return { keys: compared, worse: [...worse], better: [...better].filter((id) => !worse.has(id)) };
}

function newlyFailed(baseline: string | undefined, outcomes: readonly ExampleOutcome[]): string[] {
  const fine = new Set(
    outcomes
      .filter((each) => each.experiment_id === baseline && !each.failed)
      .map(({ example_id }) => example_id),
  );
  return outcomes
    .filter((each) => each.experiment_id !== baseline && each.failed && fine.has(each.example_id))
    .map(({ example_id }) => example_id);
}
