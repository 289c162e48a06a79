import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { RunQuery } from "../../run-query.ts";

/** The projects a query may look into: of the workspace, not deleted, and among those it names. They are in PostgreSQL. */
export async function listLiveProjects(
  sql: Sql,
  query: Pick<RunQuery, "workspaceId" | "projectIds" | "datasetId"> & { isExperiment?: false },
): Promise<string[]> {
  const named = query.projectIds ? raw`p.id = any(${query.projectIds}::uuid[])` : raw`true`;
  const experiments = query.datasetId ? raw`p.reference_dataset_id = ${query.datasetId}::uuid` : raw`true`;
  const others = query.isExperiment === false ? raw`p.reference_dataset_id is null` : raw`true`;
  const { rows } = await raw<{ id: string }>`select p.id from trace_projects p
    where p.workspace_id = ${query.workspaceId} and p.deleted_at is null and ${named} and ${experiments}
      and ${others}`.execute(sql);
  return rows.map(({ id }) => id);
}
