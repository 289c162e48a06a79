import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** The projects an export may name. They are in PostgreSQL, wherever the runs are. */
export class ExportedProjects {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async exists(workspaceId: string, projectId: string): Promise<boolean> {
    const { rows } = await raw`select 1 from trace_projects
      where id = ${projectId} and workspace_id = ${workspaceId} and deleted_at is null`.execute(
      this.#database.sql,
    );
    return rows.length > 0;
  }

  /** The oldest first. */
  async listExperiments(workspaceId: string): Promise<string[]> {
    const { rows } = await raw<{ id: string }>`select id from trace_projects
      where workspace_id = ${workspaceId} and reference_dataset_id is not null and deleted_at is null
      order by start_time, created_at, id`.execute(this.#database.sql);
    return rows.map((row) => row.id);
  }
}
