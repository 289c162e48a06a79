import type { Database, Statement } from "../../../../platform/db/database.ts";

/** More projects than people watch; without a bound, a workspace with many experiments would cost more each second. */
const projectsAtMost = 100;

export const statement: Statement = {
  name: "traces_projects_mark_1",
  text: `
    select concat_ws(' ', count(*), max(p.created_at)) as mark, coalesce(array_agg(p.id), '{}') as ids
    from (
      select id, created_at from trace_projects
      where workspace_id = $1 and deleted_at is null
      order by start_time desc limit ${projectsAtMost}
    ) p`,
};

/** The newest projects of a workspace, and what differs whenever one of them came. */
export async function readProjectsMark(
  database: Pick<Database, "query">,
  workspaceId: string,
): Promise<{ mark: string; ids: string[] }> {
  const [row] = await database.query<{ mark: string; ids: string[] }>(statement, [workspaceId]);
  return row!;
}
