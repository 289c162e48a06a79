import type { Run } from "./trace.ts";

/** The marks of a run in one line: each key with the mean of its scores, or how often it was given. */
export function feedbackText(stats: Run["feedback_stats"]): string {
  return Object.entries(stats ?? {})
    .map(([key, { n, avg }]) => `${key} ${avg == null ? `×${n}` : Number(avg.toFixed(2))}`)
    .join(", ");
}
