import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { ExampleOutcome, ExampleScore } from "../../run-stats.ts";

/** Roots that experiments made of examples. By project: the index of roots is read, never a run by its id alone. */
const roots = (workspaceId: string, experimentIds: readonly string[]) => raw`
  select id, project_id, reference_example_id, status from trace_runs
  where project_id = any(${experimentIds}::uuid[]) and is_root and workspace_id = ${workspaceId}
    and reference_example_id is not null`;

export async function listScores(
  sql: Sql,
  workspaceId: string,
  { ids, comparisonId, limit }: { ids: readonly string[]; comparisonId: string | undefined; limit: number },
): Promise<ExampleScore[]> {
  const { rows } = await raw<ExampleScore>`
    with roots as materialized (${roots(workspaceId, ids)})
    select r.project_id as experiment_id, r.reference_example_id as example_id, f.key, avg(f.score) as score
    from trace_feedback f join roots r on r.id = f.run_id
    where f.project_id = any(${ids}::uuid[]) and f.workspace_id = ${workspaceId} and f.score is not null
      and coalesce(f.comparative_experiment_id = ${comparisonId ?? null}::uuid, true)
    group by 1, 2, 3 limit ${limit}
  `.execute(sql);
  return rows;
}

export async function listOutcomes(
  sql: Sql,
  workspaceId: string,
  experimentIds: readonly string[],
  limit: number,
): Promise<ExampleOutcome[]> {
  const { rows } = await raw<ExampleOutcome>`
    select project_id as experiment_id, reference_example_id as example_id, bool_or(status = 'error') as failed
    from (${roots(workspaceId, experimentIds)}) r group by 1, 2 limit ${limit}
  `.execute(sql);
  return rows;
}
