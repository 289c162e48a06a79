import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { NewProvider, Provider } from "./provider.ts";

const columnNames = `p.id, p.organization_id, p.workspace_id, p.provider_id, p.name, p.client_id,
  p.client_secret_sealed, p.auth_url, p.token_url, p.revocation_url, p.found_revocation_url, p.metadata_checked_at,
  p.issuer, p.uses_pkce, p.code_challenge_method, p.provider_type, p.template, p.mcp_server_url, p.resource,
  p.token_endpoint_auth_method, p.authorization_params, p.is_dynamic_client, p.allowed_redirect_uris,
  p.created_at, p.updated_at`;
const columns = raw.raw(columnNames);

export const resolveStatement: Statement = {
  name: "auth_provider_resolve_v1",
  text: `select ${columnNames} from auth_providers p
    where p.provider_id = $2 and p.deleted_at is null
      and (p.workspace_id = $1 or p.workspace_id is null or p.organization_id = $3)
    order by (p.workspace_id is not distinct from $1) desc, (p.workspace_id is null) desc, p.created_at limit 1`,
};

/** The workspace's own, else the platform's. */
export async function resolveProvider(
  database: Database,
  workspaceId: string,
  providerId: string,
  platformOrganization: string | undefined,
): Promise<Provider | undefined> {
  const values = [workspaceId, providerId, platformOrganization ?? null];
  const [provider] = await database.query<Provider>(resolveStatement, values);
  return provider;
}

export async function listWorkspaceProviders(sql: Sql, workspaceId: string): Promise<Provider[]> {
  const { rows } = await raw<Provider>`select ${columns} from auth_providers p
    where p.workspace_id = ${workspaceId} and p.deleted_at is null order by p.created_at, p.id`.execute(sql);
  return rows;
}

/** Those without a workspace, and those of the organization the operator named. */
export async function listPlatformProviders(
  sql: Sql,
  organizationId: string | undefined,
): Promise<Provider[]> {
  const { rows } = await raw<Provider>`select ${columns} from auth_providers p
    where p.deleted_at is null and (p.workspace_id is null or p.organization_id = ${organizationId ?? null}::uuid)
    order by p.created_at, p.id`.execute(sql);
  return rows;
}

export async function findWorkspaceProvider(
  sql: Sql,
  workspaceId: string,
  providerId: string,
): Promise<Provider | undefined> {
  const { rows } = await raw<Provider>`select ${columns} from auth_providers p
    where p.workspace_id = ${workspaceId} and p.provider_id = ${providerId} and p.deleted_at is null`.execute(
    sql,
  );
  return rows[0];
}

export async function findPlatformProvider(
  sql: Sql,
  organizationId: string | undefined,
  providerId: string,
): Promise<Provider | undefined> {
  const { rows } = await raw<Provider>`select ${columns} from auth_providers p
    where p.provider_id = ${providerId} and p.deleted_at is null
      and (p.workspace_id is null or p.organization_id = ${organizationId ?? null}::uuid)
    order by p.workspace_id nulls first, p.created_at limit 1`.execute(sql);
  return rows[0];
}

/** By row id, also one that is deleted: its tokens are still to be revoked. */
export async function findProvider(sql: Sql, id: string): Promise<Provider | undefined> {
  const { rows } = await raw<Provider>`select ${columns} from auth_providers p where p.id = ${id}`.execute(
    sql,
  );
  return rows[0];
}

/** Undefined when the id is taken. */
export async function insertProvider(sql: Sql, provider: NewProvider): Promise<Provider | undefined> {
  const p = provider;
  const params = p.authorization_params === null ? null : JSON.stringify(p.authorization_params);
  const { rows } =
    await raw<Provider>`insert into auth_providers as p (id, organization_id, workspace_id, provider_id,
      name, client_id, client_secret_sealed, auth_url, token_url, revocation_url, issuer, uses_pkce,
      code_challenge_method, provider_type, template, mcp_server_url, resource, token_endpoint_auth_method,
      authorization_params, is_dynamic_client, allowed_redirect_uris, created_at, updated_at)
    values (${p.id}, ${p.organization_id}, ${p.workspace_id}, ${p.provider_id}, ${p.name}, ${p.client_id},
      ${p.client_secret_sealed}, ${p.auth_url}, ${p.token_url}, ${p.revocation_url}, ${p.issuer}, ${p.uses_pkce},
      ${p.code_challenge_method}, ${p.provider_type}, ${p.template}, ${p.mcp_server_url}, ${p.resource},
      ${p.token_endpoint_auth_method}, ${params}::jsonb, ${p.is_dynamic_client}, ${p.allowed_redirect_uris},
      ${p.created_at}, ${p.created_at})
    on conflict do nothing returning ${columns}`.execute(sql);
  return rows[0];
}

/** Everything but who it belongs to. What was found about the old address is forgotten. */
export async function updateProvider(
  sql: Sql,
  provider: Omit<NewProvider, "created_at">,
  now: Date,
): Promise<Provider | undefined> {
  const p = provider;
  const params = p.authorization_params === null ? null : JSON.stringify(p.authorization_params);
  const { rows } =
    await raw<Provider>`update auth_providers as p set name = ${p.name}, client_id = ${p.client_id},
      client_secret_sealed = ${p.client_secret_sealed}, auth_url = ${p.auth_url}, token_url = ${p.token_url},
      revocation_url = ${p.revocation_url}, issuer = ${p.issuer}, uses_pkce = ${p.uses_pkce},
      code_challenge_method = ${p.code_challenge_method}, provider_type = ${p.provider_type},
      template = ${p.template}, token_endpoint_auth_method = ${p.token_endpoint_auth_method},
      authorization_params = ${params}::jsonb, allowed_redirect_uris = ${p.allowed_redirect_uris},
      found_revocation_url = case when p.token_url = ${p.token_url} then p.found_revocation_url end,
      metadata_checked_at = case when p.token_url = ${p.token_url} then p.metadata_checked_at end,
      updated_at = ${now}
    where p.id = ${p.id} and p.deleted_at is null returning ${columns}`.execute(sql);
  return rows[0];
}

export async function hasTokens(sql: Sql, id: string): Promise<boolean> {
  const { rows } = await raw`select 1 from auth_tokens where provider = ${id} limit 1`.execute(sql);
  return rows.length > 0;
}

export async function markProviderDeleted(sql: Sql, id: string, now: Date): Promise<boolean> {
  const { rows } = await raw`update auth_providers set deleted_at = ${now}, updated_at = ${now}
    where id = ${id} and deleted_at is null returning id`.execute(sql);
  return rows.length > 0;
}

/** A platform provider that left the operator's file and is back: its tokens are good again. */
export async function revivePlatformProvider(sql: Sql, providerId: string, now: Date): Promise<void> {
  await raw`update auth_providers set deleted_at = null, updated_at = ${now}
    where id = (select id from auth_providers
        where workspace_id is null and provider_id = ${providerId} order by created_at desc limit 1)
      and deleted_at is not null`.execute(sql);
}

/** Fails while tokens point to it. */
export async function deleteProviderRow(sql: Sql, id: string): Promise<void> {
  await raw`delete from auth_providers where id = ${id} and deleted_at is not null`.execute(sql);
}

export async function saveFoundRevocation(
  sql: Sql,
  id: string,
  url: string | null,
  now: Date,
): Promise<void> {
  await raw`update auth_providers set found_revocation_url = ${url}, metadata_checked_at = ${now}
    where id = ${id}`.execute(sql);
}

/** The first organization of an installation is the operator's. */
export async function findOperatorOrganization(sql: Sql): Promise<string | undefined> {
  const { rows } = await raw<{ id: string }>`
    select id from organizations order by created_at, id limit 1`.execute(sql);
  return rows[0]?.id;
}
