import type { AlertRule } from "./alert.ts";

/** What a kind needs that no schema can express. */
export function kindProblem({
  kind,
  threshold,
}: Pick<AlertRule, "kind" | "threshold">): { field: "threshold"; message: string } | null {
  const problem = (message: string) => ({ field: "threshold" as const, message });
  if (kind === "no_traffic")
    return threshold === null ? null : problem("threshold is not used with no_traffic: leave it out");
  if (threshold === null)
    return problem(
      `threshold is required with ${kind}: ${kind === "error_rate" ? "percent of the runs" : "seconds"}`,
    );
  if (kind === "error_rate" && threshold > 100) return problem("threshold is a percentage: 100 at most");
  if (kind === "export_failed" && !Number.isInteger(threshold))
    return problem("threshold is a number of exports: 1 or more");
  return null;
}
