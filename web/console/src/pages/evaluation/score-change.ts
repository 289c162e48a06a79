export type Verdict = "better" | "worse" | "same";

const epsilon = 1e-9;

/** Null where one of the two has no score. */
export function verdictOf(
  score: number | null | undefined,
  baseline: number | null | undefined,
  lowerIsBetter: boolean,
): Verdict | null {
  if (score == null || baseline == null) return null;
  const change = (score - baseline) * (lowerIsBetter ? -1 : 1);
  return change > epsilon ? "better" : change < -epsilon ? "worse" : "same";
}

export function formatScore(score: number): string {
  if (Number.isInteger(score)) return score.toLocaleString("en-US");
  return Math.abs(score) < 100 ? score.toFixed(2) : Math.round(score).toLocaleString("en-US");
}

/** `+0.25`, `-1`; nothing where nothing changed. */
export function formatChange(score: number, baseline: number): string {
  const change = score - baseline;
  if (Math.abs(change) <= epsilon) return "";
  return `${change > 0 ? "+" : "-"}${formatScore(Math.abs(change))}`;
}

/** Whether two outputs hold the same, however their fields are ordered. */
export function isSameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value ?? null;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}
