import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type FoundDeployment = { id: string; name: string; slug: string };

/** By a part of the name, or by id; the best match first. */
export async function findDeployments(
  sql: Sql,
  wanted: { workspaceId: string; words: string; ids: { from: string; to: string } | null; limit: number },
): Promise<FoundDeployment[]> {
  const { from = null, to = null } = wanted.ids ?? {};
  const { rows } = await raw<FoundDeployment>`
    select id, name, slug from deployments
    where workspace_id = ${wanted.workspaceId} and deleted_at is null
      and (position(lower(${wanted.words}) in lower(name)) > 0 or id between ${from}::uuid and ${to}::uuid)
    order by position(lower(${wanted.words}) in lower(name)), created_at desc limit ${wanted.limit}`.execute(
    sql,
  );
  return rows;
}
