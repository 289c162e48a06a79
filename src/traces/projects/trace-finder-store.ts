import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

type Wanted = {
  workspaceId: string;
  words: string;
  ids: { from: string; to: string } | null;
  limit: number;
};

export type FoundProject = { id: string; name: string; reference_dataset_id: string | null };

/** More projects than people have; beyond them only an id finds one. */
const latestProjects = 2_000;

/** Projects that are experiments on a dataset, or those that are not. */
export async function findProjects(
  sql: Sql,
  wanted: Wanted,
  which: "experiments" | "others",
): Promise<FoundProject[]> {
  const { from = null, to = null } = wanted.ids ?? {};
  const { rows } = await raw<FoundProject>`
    select id, name, reference_dataset_id from (
      select id, name, reference_dataset_id, start_time from trace_projects
      where workspace_id = ${wanted.workspaceId} and deleted_at is null
        and (reference_dataset_id is not null) = ${which === "experiments"}
      order by start_time desc limit ${latestProjects}
    ) latest
    where position(lower(${wanted.words}) in lower(name)) > 0 or id between ${from}::uuid and ${to}::uuid
    order by position(lower(${wanted.words}) in lower(name)), start_time desc limit ${wanted.limit}`.execute(
    sql,
  );
  return rows;
}
