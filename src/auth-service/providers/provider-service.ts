import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { SecretBox } from "../../platform/encryption/secret-box.ts";
import { invalidField } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { enqueue } from "../../platform/jobs/job-queue.ts";
import type { EndpointCheck } from "./endpoint-check-service.ts";
import type { McpDiscovery } from "./mcp-discovery-service.ts";
import type { OAuthClient } from "./oauth-client.ts";
import {
  defaultRedirectUri,
  leavesItsServer,
  type NewProvider,
  type Provider,
  providerExists,
  providerInUse,
  providerNotFound,
} from "./provider.ts";
import { changesOf, completeRequest } from "./provider-request.ts";
import type { ProviderCreateRequest, ProviderUpdateRequest } from "./provider-schemas.ts";
import * as store from "./provider-store.ts";
import { knownRevocation } from "./provider-templates.ts";
import { clientSecretContext } from "./sealed-columns.ts";

export const removeProviderJobKind = "auth.remove_provider";
const askAgainMs = 24 * 60 * 60_000;

type ProviderServiceOptions = {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  client: OAuthClient;
  checkEndpoint: EndpointCheck;
  discovery: McpDiscovery;
  publicUrl(): string;
  platformOrganization: string | undefined;
};

/** The providers of a workspace, the platform's beside them, and what is learnt about them. */
export class ProviderService {
  readonly #options: ProviderServiceOptions;

  constructor(options: ProviderServiceOptions) {
    this.#options = options;
  }

  list(caller: Pick<Caller, "workspaceId">): Promise<Provider[]> {
    return store.listWorkspaceProviders(this.#options.database.sql, caller.workspaceId);
  }

  get(caller: Caller, providerId: string): Promise<Provider> {
    return this.#getOwn(caller, providerId);
  }

  listPlatform(): Promise<Provider[]> {
    const { database, platformOrganization } = this.#options;
    return store.listPlatformProviders(database.sql, platformOrganization);
  }

  async getPlatform(providerId: string): Promise<Provider> {
    const { database, platformOrganization } = this.#options;
    const provider = await store.findPlatformProvider(database.sql, platformOrganization, providerId);
    if (!provider) throw providerNotFound(providerId);
    return provider;
  }

  async create(caller: Caller, request: ProviderCreateRequest): Promise<Provider> {
    const { clock, checkEndpoint } = this.#options;
    const id = newId();
    const provider: NewProvider = {
      ...completeRequest(request),
      id,
      organization_id: caller.organizationId,
      workspace_id: caller.workspaceId,
      client_secret_sealed: this.#seal(id, request.client_secret),
      created_at: clock.now(),
    };
    await checkEndpoints(provider, checkEndpoint);
    return this.#insert(provider);
  }

  async discoverMcp(
    caller: Caller,
    request: { provider_id: string; name: string; mcp_server_url: string },
  ): Promise<Provider> {
    const { database, clock } = this.#options;
    const known = await store.findWorkspaceProvider(database.sql, caller.workspaceId, request.provider_id);
    // Before a client is registered, which would then be unused.
    if (known) throw providerExists(request.provider_id);
    const found = await this.#options.discovery.discover({
      serverUrl: request.mcp_server_url,
      clientName: request.name,
      redirectUri: defaultRedirectUri(this.#options.publicUrl(), request.provider_id),
    });
    const id = newId();
    const { clientSecret, ...facts } = found;
    return this.#insert({
      ...facts,
      id,
      organization_id: caller.organizationId,
      workspace_id: caller.workspaceId,
      provider_id: request.provider_id,
      name: request.name,
      client_secret_sealed: this.#seal(id, clientSecret),
      provider_type: null,
      template: null,
      authorization_params: null,
      allowed_redirect_uris: [],
      created_at: clock.now(),
    });
  }

  async update(caller: Caller, providerId: string, request: ProviderUpdateRequest): Promise<Provider> {
    const { checkEndpoint, database, clock } = this.#options;
    const present = await this.#getOwn(caller, providerId);
    const changed = { ...present, ...changesOf(present, request) };
    await checkEndpoints(changed, checkEndpoint, present);
    if (leavesItsServer(present, changed)) {
      if (await store.hasTokens(database.sql, present.id)) throw providerInUse();
      if (present.client_secret_sealed !== null && request.client_secret === undefined) {
        throw invalidField(
          ["body", "client_secret"],
          "must be sent again: the URL belongs to another server",
        );
      }
    }
    const sealed =
      request.client_secret === undefined
        ? present.client_secret_sealed
        : this.#seal(present.id, request.client_secret);
    const stored = await store.updateProvider(
      database.sql,
      {
        ...changed,
        client_secret_sealed: sealed,
        code_challenge_method: changed.uses_pkce
          ? (changed.code_challenge_method ?? "S256")
          : changed.code_challenge_method,
      },
      clock.now(),
    );
    if (!stored) throw providerNotFound(providerId);
    return stored;
  }

  /** Gone at once; a job revokes its tokens. */
  async remove(caller: Caller, providerId: string): Promise<void> {
    const { database, clock } = this.#options;
    const provider = await this.#getOwn(caller, providerId);
    await database.transaction(async (tx) => {
      if (!(await store.markProviderDeleted(tx, provider.id, clock.now())))
        throw providerNotFound(providerId);
      await enqueue(tx, {
        kind: removeProviderJobKind,
        payload: { provider: provider.id },
        idempotencyKey: provider.id,
        workspaceId: caller.workspaceId,
      });
    });
  }

  /** The workspace's own, else the platform's. */
  async resolve(workspaceId: string, providerId: string): Promise<Provider> {
    const { database, platformOrganization } = this.#options;
    const provider = await store.resolveProvider(database, workspaceId, providerId, platformOrganization);
    if (!provider) throw providerNotFound(providerId);
    return provider;
  }

  find(id: string): Promise<Provider | undefined> {
    return store.findProvider(this.#options.database.sql, id);
  }

  secretOf(provider: Provider): string | null {
    return provider.client_secret_sealed === null
      ? null
      : this.#options.secretBox.open(provider.client_secret_sealed, clientSecretContext(provider.id));
  }

  /** Asks the server's metadata for a revocation endpoint, at most once a day; failing means there is none. */
  async findRevocation(provider: Provider): Promise<Provider> {
    const { clock, client, database } = this.#options;
    const now = clock.now();
    const askedAt = provider.metadata_checked_at?.getTime() ?? 0;
    if (knownRevocation(provider) !== null || now.getTime() - askedAt < askAgainMs) return provider;
    const url = await discoverRevocation(client, provider);
    await store.saveFoundRevocation(database.sql, provider.id, url, now);
    return { ...provider, found_revocation_url: url, metadata_checked_at: now };
  }

  #seal(id: string, secret: string | null | undefined) {
    return secret == null ? null : this.#options.secretBox.seal(secret, clientSecretContext(id));
  }

  async #getOwn(caller: Caller, providerId: string): Promise<Provider> {
    const provider = await store.findWorkspaceProvider(
      this.#options.database.sql,
      caller.workspaceId,
      providerId,
    );
    if (!provider) throw providerNotFound(providerId);
    return provider;
  }

  async #insert(provider: NewProvider): Promise<Provider> {
    const stored = await store.insertProvider(this.#options.database.sql, provider);
    if (!stored) throw providerExists(provider.provider_id);
    return stored;
  }
}

async function discoverRevocation(client: OAuthClient, provider: Provider): Promise<string | null> {
  const issuer = new URL(provider.issuer ?? new URL(provider.token_url).origin);
  try {
    const server = await client.discover(issuer);
    // Metadata of the same host about another server does not apply to this one.
    return server?.token_endpoint === provider.token_url ? (server.revocation_endpoint ?? null) : null;
  } catch {
    // A server that publishes no usable metadata has no known endpoint; the token event then records that.
    return null;
  }
}

async function checkEndpoints(
  provider: Pick<Provider, "auth_url" | "token_url" | "revocation_url" | "issuer">,
  check: EndpointCheck,
  before?: Provider,
): Promise<void> {
  for (const name of ["auth_url", "token_url", "revocation_url", "issuer"] as const) {
    const url = provider[name];
    if (url !== null && url !== before?.[name]) await check(name, url);
  }
}
