import { randomUUID } from "node:crypto";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/** Rows that others refer to, as far as a test of those others needs them. */
export async function insertWorkspace(sql: Sql, id: string = randomUUID()): Promise<string> {
  await raw`insert into organizations (id, name) values (${id}, 'o')`.execute(sql);
  await raw`insert into workspaces (id, organization_id, name) values (${id}, ${id}, 'w')`.execute(sql);
  return id;
}

export async function insertDeployment(sql: Sql, workspaceId: string, name = "d"): Promise<string> {
  const id = randomUUID();
  const unique = `${name}-${id}`;
  await raw`insert into deployments (id, workspace_id, name, slug, source, source_config, source_revision_config,
      secrets_sealed, database_name, database_password_sealed)
    values (${id}, ${workspaceId}, ${unique}, ${unique}, 'github', '{}', '{}', '', ${id}, '')`.execute(sql);
  return id;
}

export async function insertRevision(
  sql: Sql,
  revision: { workspaceId: string; deploymentId: string; number?: number; status?: string },
): Promise<string> {
  const { workspaceId, deploymentId, number = 1, status = "DEPLOYED" } = revision;
  const id = randomUUID();
  await raw`insert into revisions (id, deployment_id, workspace_id, number, status, source, source_revision_config,
      build_config, secrets_sealed)
    values (${id}, ${deploymentId}, ${workspaceId}, ${number}, ${status}, 'github', '{}', '{}', '')`.execute(
    sql,
  );
  return id;
}

export async function insertInstance(
  sql: Sql,
  instance: { deploymentId: string; revisionId: string; state?: string; port?: number; runtime?: string },
): Promise<string> {
  const { deploymentId, revisionId, state = "ready", port = 1, runtime = "process" } = instance;
  const id = randomUUID();
  await raw`insert into deployment_instances (id, deployment_id, revision_id, runtime, state, attempt, port, log_path,
      database_hash)
    values (${id}, ${deploymentId}, ${revisionId}, ${runtime}, ${state}, 1, ${port}, '', '')`.execute(sql);
  return id;
}
