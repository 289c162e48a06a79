import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { RunPayloads } from "../../run-query.ts";

/** Inputs and outputs of runs by id, JSON text; what the client sent as null is null. */
export async function findRunPayloads(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, RunPayloads>> {
  const { rows } = await raw<RunPayloads & { id: string }>`
    select r.id, nullif(r.inputs, 'null') as inputs, nullif(r.outputs, 'null') as outputs
    from trace_run_ids k join trace_runs r
      on r.id = k.id and r.start_time = k.start_time and r.workspace_id = k.workspace_id
    where k.id = any(${ids}::uuid[]) and k.workspace_id = ${workspaceId}`.execute(sql);
  return new Map(rows.map(({ id, ...payloads }) => [id, payloads]));
}
