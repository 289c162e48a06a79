import type { AuthorizationServer } from "oauth4webapi";
import { AppError } from "../../platform/errors.ts";
import type { OAuthClient } from "../providers/oauth-client.ts";
import type { Provider } from "../providers/provider.ts";
import type { ProviderService } from "../providers/provider-service.ts";
import { knownUserinfo, templateOf } from "../providers/provider-templates.ts";
import type { AuthenticateOutcome, AuthorizationService, TokenUser } from "./authorization-service.ts";
import type { ConsentService } from "./consent-service.ts";

export type AgentRequest = {
  /** A provider's id, or its name as a person writes it. */
  provider: string;
  /** Left out: the scopes that are connected, or those needed to ask who the account belongs to. */
  scopes?: readonly string[] | undefined;
  agentId?: string | undefined;
};

type AskedProvider = { id: string; name: string };

export type AgentAccess =
  | {
      status: "completed";
      /** The access token. There is no way from here to the refresh token. */
      token: string;
      account: string | null;
      provider: AskedProvider;
      /** Where the token's owner can be read; null: the provider has no such address. */
      userinfoUrl: string | null;
    }
  | { status: "pending"; url: string; authId: string; scopes: string[]; provider: AskedProvider }
  | { status: "unknown_provider"; known: AskedProvider[] };

type AgentAccessServiceOptions = {
  providers: ProviderService;
  authorizations: AuthorizationService;
  consents: ConsentService;
  client: OAuthClient;
};

/** For graphs that run inside the platform. */
export class AgentAccessService {
  readonly #options: AgentAccessServiceOptions;

  constructor(options: AgentAccessServiceOptions) {
    this.#options = options;
  }

  async access(user: TokenUser, { provider: asked, scopes, agentId }: AgentRequest): Promise<AgentAccess> {
    const { authorizations } = this.#options;
    const provider = await this.#findProvider(user, asked);
    if (Array.isArray(provider)) return { status: "unknown_provider", known: provider };
    const request = {
      provider: provider.provider_id,
      // Named, so that the account is the person's own, not one the agent owns.
      user_id: user.userId,
      agent_id: agentId,
      force_new: false,
      is_default: true,
    };
    const held = await authorizations.authenticate(user, {
      ...request,
      scopes: [...(scopes ?? [])],
      check_only: true,
    });
    if (held.status === "completed") return this.#handOver(provider, held);
    const wanted = [...(scopes ?? (await this.#identityScopes(provider)))];
    const consent = await authorizations.authenticate(user, {
      ...request,
      scopes: wanted,
      check_only: false,
      reuse_pending: true,
    });
    if (consent.status === "completed") return this.#handOver(provider, consent);
    if (!("url" in consent)) throw notStarted(provider);
    return {
      status: "pending",
      url: consent.url,
      authId: consent.authId,
      scopes: wanted,
      provider: nameOf(provider),
    };
  }

  /** The person does not want to, for now. */
  decline(user: TokenUser, authId: string): Promise<void> {
    return this.#options.consents.decline(user, authId);
  }

  async #findProvider(user: TokenUser, asked: string): Promise<Provider | AskedProvider[]> {
    const { providers } = this.#options;
    const all = [...(await providers.list(user)), ...(await providers.listPlatform())];
    const wanted = plain(asked);
    const found =
      all.find(({ provider_id }) => provider_id === asked) ??
      all.find(({ provider_id, name }) => plain(provider_id) === wanted || plain(name) === wanted);
    // By its id again: the workspace's own comes before the platform's.
    if (found) return providers.resolve(user.workspaceId, found.provider_id);
    return all.map(nameOf);
  }

  /** The server's metadata; null where it publishes none, or that of another server. */
  async #metadataOf(provider: Provider): Promise<AuthorizationServer | null> {
    const issuer = new URL(provider.issuer ?? new URL(provider.token_url).origin);
    try {
      const server = await this.#options.client.discover(issuer);
      return server?.token_endpoint === provider.token_url ? server : null;
    } catch {
      // No metadata, or none that can be used: then the account's name is what was learnt at the consent.
      return null;
    }
  }

  async #identityScopes(provider: Provider): Promise<string[]> {
    const template = templateOf(provider);
    if (template) return template.identity_scopes;
    const supported = (await this.#metadataOf(provider))?.scopes_supported ?? [];
    return ["openid", "profile", "email"].filter((scope) => supported.includes(scope));
  }

  async #handOver(
    provider: Provider,
    { token, details }: Extract<AuthenticateOutcome, { status: "completed" }>,
  ): Promise<AgentAccess> {
    const userinfoUrl =
      knownUserinfo(provider) ?? (await this.#metadataOf(provider))?.userinfo_endpoint ?? null;
    const account = details.provider_account_label;
    return { status: "completed", token, account, provider: nameOf(provider), userinfoUrl };
  }
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

function nameOf({ provider_id, name }: Provider): AskedProvider {
  return { id: provider_id, name };
}

function notStarted({ name }: Provider): AppError {
  return new AppError({
    code: "authorization.not_started",
    kind: "internal",
    message: `No consent could be started for ${name}.`,
  });
}
