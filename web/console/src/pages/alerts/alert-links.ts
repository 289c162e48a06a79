import type { Alert } from "./alert-api.ts";

/** The page of what an alert watches. */
export function subjectHref({ scope, scope_id: id }: Pick<Alert, "scope" | "scope_id">): string | null {
  if (scope === "deployment") return `/deployments/${id}`;
  return scope === "project" ? `/traces/${id}?range=24h` : null;
}

/** What made it fire: the runs of the project it watches, or the exports. Null where no page lists them. */
export function causesHref(
  { kind, threshold }: Pick<Alert, "kind" | "threshold">,
  projectId: string | null | undefined,
): string | null {
  if (kind === "export_failed") return "/exports";
  if (!projectId) return null;
  const runs = `/traces/${projectId}?range=24h`;
  if (kind === "error_rate") return `${runs}&errors=1`;
  if (kind !== "latency_p95" || threshold === null) return runs;
  return `${runs}&filter=${encodeURIComponent(`gt(latency, "${threshold}s")`)}`;
}
