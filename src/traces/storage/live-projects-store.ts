import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { RunQuery } from "./run-query.ts";

export type WantedProjects = Pick<RunQuery, "workspaceId" | "projectIds" | "datasetId"> & {
  /** No experiments. */
  isExperiment?: false;
};

/** The projects a query may look into: of the workspace, not deleted, and among those it names. */
export function projectsOf(query: WantedProjects): RawBuilder<unknown> {
  const parts = [raw`p.workspace_id = ${query.workspaceId}`, raw`p.deleted_at is null`];
  if (query.projectIds) parts.push(raw`p.id = any(${query.projectIds}::uuid[])`);
  if (query.datasetId) parts.push(raw`p.reference_dataset_id = ${query.datasetId}::uuid`);
  if (query.isExperiment === false) parts.push(raw`p.reference_dataset_id is null`);
  return raw`select p.id from trace_projects p where ${raw.join(parts, raw` and `)}`;
}

/** The same for engines that cannot ask for them within a statement: projects are in PostgreSQL. */
export async function listLiveProjects(sql: Sql, query: WantedProjects): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`${projectsOf(query)}`.execute(sql);
  return rows.map(({ id }) => id);
}
