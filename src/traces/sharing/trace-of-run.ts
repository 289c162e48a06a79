import type { BoundedRead } from "../query/bounded-read.ts";
import { notInPlace, type RunField, type RunRow, runNotFound } from "../query/run-query.ts";
import { findRuns } from "../query/run-query-store.ts";

type Named = { session_id?: string | null | undefined; trace_id?: string | null | undefined };

export async function findRun(
  read: BoundedRead,
  workspaceId: string,
  runId: string,
): Promise<RunRow | undefined> {
  const query = { workspaceId, ids: [runId] };
  const fields = new Set<RunField>(["id", "trace_id", "session_id"]);
  const found = await read((sql) => findRuns(sql, query, { limit: 1, order: "desc" }, fields));
  return found.rows[0];
}

/** The trace a run is in, which is the one that was named with it, if one was. */
export async function traceOfRun(
  read: BoundedRead,
  workspaceId: string,
  runId: string,
  named: Named = {},
): Promise<string> {
  const run = await findRun(read, workspaceId, runId);
  if (!run?.trace_id) throw runNotFound(runId);
  if (named.session_id && named.session_id !== run.session_id) throw notInPlace(runId, "project");
  if (named.trace_id && named.trace_id !== run.trace_id) throw notInPlace(runId, "trace");
  return run.trace_id;
}
