import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Differs whenever a deployment of the workspace, its latest revision or one of its servers has changed. */
export async function readDeploymentsMark(sql: Sql, workspaceId: string): Promise<string> {
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ', count(*), max(d.updated_at), max(d.switched_at), sum(d.next_revision_number),
      count(d.active_revision_id), max(r.updated_at), sum(i.live), sum(i.ready), max(i.started_at)) as mark
    from deployments d
    left join revisions r on r.id = d.latest_revision_id
    left join lateral (
      select count(*) as live, count(*) filter (where state = 'ready') as ready, max(started_at) as started_at
      from deployment_instances where deployment_id = d.id and state <> 'exited'
    ) i on true
    where d.workspace_id = ${workspaceId} and d.deleted_at is null`.execute(sql);
  return rows[0]!.mark;
}
