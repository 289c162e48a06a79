import type { Experiment } from "./evaluation-api.ts";

export type ScoreLine = { key: string; times: number[]; values: number[] };

/** Each key's mean in the experiments that have it, oldest first; one experiment alone draws no line. */
export function scoresOverTime(
  experiments: readonly Pick<Experiment, "start_time" | "feedback_stats">[],
): ScoreLine[] {
  const lines = new Map<string, ScoreLine>();
  const inOrder = [...experiments].sort(
    (one, other) => Date.parse(one.start_time) - Date.parse(other.start_time),
  );
  for (const { start_time, feedback_stats } of inOrder) {
    for (const [key, { avg }] of Object.entries(feedback_stats ?? {})) {
      if (avg == null) continue;
      const line = lines.get(key) ?? { key, times: [], values: [] };
      lines.set(key, line);
      const seconds = Date.parse(start_time) / 1_000;
      // Times must ascend, also where two began in the same moment.
      line.times.push(Math.max(seconds, (line.times.at(-1) ?? 0) + 0.001));
      line.values.push(avg);
    }
  }
  return [...lines.values()]
    .filter(({ values }) => values.length > 1)
    .sort((one, other) => other.values.length - one.values.length || (one.key < other.key ? -1 : 1));
}
