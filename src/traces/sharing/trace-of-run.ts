import { notInPlace, runNotFound } from "../query/run-errors.ts";
import type { RunField, RunRow } from "../storage/run-query.ts";
import type { RunReading } from "../storage/run-storage.ts";

type Named = { session_id?: string | null | undefined; trace_id?: string | null | undefined };

export async function findRun(
  runs: RunReading,
  workspaceId: string,
  runId: string,
): Promise<RunRow | undefined> {
  const query = { workspaceId, ids: [runId] };
  const fields = new Set<RunField>(["id", "trace_id", "session_id"]);
  const found = await runs.find(query, { limit: 1, order: "desc" }, fields);
  return found.rows[0];
}

/** The trace a run is in, which is the one that was named with it, if one was. */
export async function traceOfRun(
  runs: RunReading,
  workspaceId: string,
  runId: string,
  named: Named = {},
): Promise<string> {
  const run = await findRun(runs, workspaceId, runId);
  if (!run?.trace_id) throw runNotFound(runId);
  if (named.session_id && named.session_id !== run.session_id) throw notInPlace(runId, "project");
  if (named.trace_id && named.trace_id !== run.trace_id) throw notInPlace(runId, "trace");
  return run.trace_id;
}
