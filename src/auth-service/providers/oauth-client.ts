import * as oauth from "oauth4webapi";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import { describeOAuthFailure } from "./oauth-failure.ts";
import type { Provider } from "./provider.ts";
import { conformTokenBody, type GrantedToken, readGrant } from "./token-response.ts";

export type RegisteredClient = {
  client_id: string;
  client_secret?: string;
  token_endpoint_auth_method?: string;
};

export const providerTimeoutMs = 15_000;
const maxResponseBytes = 1024 * 1024;

type OAuthClientOptions = {
  guard: NetworkGuard;
  /** Plain http, where the operator allows private addresses. */
  allowHttp: boolean;
};

/** What the library hands over to be sent. */
type SentInit = { method?: string; headers?: Record<string, string>; body?: unknown };

/** The protocol steps, all over the guarded network. The protocol itself is the library's. */
export class OAuthClient {
  readonly #options: OAuthClientOptions;

  constructor(options: OAuthClientOptions) {
    this.#options = options;
  }

  async exchangeCode(
    provider: Provider,
    secret: string | null,
    request: {
      code: string;
      state: string;
      issuer: string | undefined;
      redirectUri: string;
      codeVerifier: string | null;
    },
  ): Promise<GrantedToken> {
    const server = serverOf(provider);
    const client = { client_id: provider.client_id };
    const tokenRequest = this.#tokenRequestOptions(provider);
    try {
      const parameters = new URLSearchParams({ code: request.code, state: request.state });
      if (provider.issuer !== null && request.issuer !== undefined) {
        parameters.set("iss", request.issuer);
      }
      const checked = oauth.validateAuthResponse(server, client, parameters, request.state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        clientAuth(provider, secret),
        checked,
        request.redirectUri,
        request.codeVerifier ?? oauth.nopkce,
        tokenRequest.options,
      );
      const body = await oauth.processAuthorizationCodeResponse(server, client, answer);
      return readGrant(body, tokenRequest.idToken());
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(provider.token_url),
        step: "the exchange of the authorization code",
        secrets: [secret, request.code, request.codeVerifier, request.state],
      });
    }
  }

  async refresh(provider: Provider, secret: string | null, refreshToken: string): Promise<GrantedToken> {
    const server = serverOf(provider);
    const client = { client_id: provider.client_id };
    const tokenRequest = this.#tokenRequestOptions(provider);
    try {
      const answer = await oauth.refreshTokenGrantRequest(
        server,
        client,
        clientAuth(provider, secret),
        refreshToken,
        tokenRequest.options,
      );
      const body = await oauth.processRefreshTokenResponse(server, client, answer);
      return readGrant(body, tokenRequest.idToken());
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(provider.token_url),
        step: "the refresh of a token",
        secrets: [secret, refreshToken],
      });
    }
  }

  /** RFC 7009. Resolves when the token is gone, also when it was before. */
  async revoke(
    provider: Provider,
    secret: string | null,
    { url, token, hint }: { url: string; token: string; hint: "access_token" | "refresh_token" },
  ): Promise<void> {
    const server = { ...serverOf(provider), revocation_endpoint: url };
    try {
      const answer = await oauth.revocationRequest(
        server,
        { client_id: provider.client_id },
        clientAuth(provider, secret),
        token,
        { ...this.#plain(), additionalParameters: { token_type_hint: hint } },
      );
      // The body of a success has no meaning, and some servers send 204.
      if (answer.status === 204) return;
      await oauth.processRevocationResponse(answer);
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(url),
        step: "the revocation of a token",
        secrets: [secret, token],
      });
    }
  }

  /** Metadata of the server, RFC 8414 first, OpenID's second; null when it publishes none. */
  async discover(issuer: URL): Promise<oauth.AuthorizationServer | null> {
    for (const algorithm of ["oauth2", "oidc"] as const) {
      const answer = await oauth.discoveryRequest(issuer, { ...this.#plain(), algorithm });
      if (answer.status !== 200) continue;
      return await oauth.processDiscoveryResponse(issuer, answer);
    }
    return null;
  }

  async register(
    server: oauth.AuthorizationServer,
    metadata: Partial<oauth.OmitSymbolProperties<oauth.Client>>,
  ): Promise<RegisteredClient> {
    const answer = await oauth.dynamicClientRegistrationRequest(server, metadata, this.#plain());
    // Some servers answer 200 to what they registered.
    const created =
      answer.status === 200 ? new Response(answer.body, { status: 201, headers: answer.headers }) : answer;
    const client = await oauth.processDynamicClientRegistrationResponse(created);
    return {
      client_id: client.client_id,
      ...(typeof client.client_secret === "string" && { client_secret: client.client_secret }),
      ...(typeof client.token_endpoint_auth_method === "string" && {
        token_endpoint_auth_method: client.token_endpoint_auth_method,
      }),
    };
  }

  #plain() {
    return {
      [oauth.customFetch]: (url: string, init: SentInit) => this.#send(url, init),
      [oauth.allowInsecureRequests]: this.#options.allowHttp,
    };
  }

  async #send(url: string, init: SentInit): Promise<Response> {
    return this.#options.guard.guardedFetch(url, {
      method: init.method ?? "GET",
      headers: new Headers(init.headers),
      ...(init.body == null ? {} : { body: String(init.body) }),
      timeoutMs: providerTimeoutMs,
      maxResponseBytes,
      redirect: "manual",
    });
  }

  /** The library would check an ID token against an issuer that is often not known; it is read apart. */
  #tokenRequestOptions(provider: Provider) {
    let idToken: string | undefined;
    return {
      idToken: () => idToken,
      options: {
        [oauth.allowInsecureRequests]: this.#options.allowHttp,
        [oauth.customFetch]: async (url: string, init: SentInit) => {
          const answer = await this.#send(url, { ...init, method: "POST" });
          const conform = conformTokenBody(
            answer.status,
            answer.headers.get("content-type"),
            await answer.text(),
          );
          const { body, found } = withoutIdToken(conform.body, conform.contentType);
          idToken = found;
          const headers = new Headers(answer.headers);
          headers.delete("content-length");
          if (conform.contentType) headers.set("content-type", conform.contentType);
          return new Response(body, { status: conform.status, headers });
        },
        ...(provider.resource === null ? {} : { additionalParameters: { resource: provider.resource } }),
      },
    };
  }
}

function serverOf(provider: Provider): oauth.AuthorizationServer {
  return {
    issuer: provider.issuer ?? new URL(provider.token_url).origin,
    authorization_endpoint: provider.auth_url,
    token_endpoint: provider.token_url,
  };
}

/** A client without a secret authenticates with PKCE alone, regardless of the method that was set. */
function clientAuth(provider: Provider, secret: string | null): oauth.ClientAuth {
  if (secret === null || provider.token_endpoint_auth_method === "none") return oauth.None();
  return provider.token_endpoint_auth_method === "client_secret_basic"
    ? oauth.ClientSecretBasic(secret)
    : oauth.ClientSecretPost(secret);
}

function withoutIdToken(body: string, contentType: string | null): { body: string; found?: string } {
  if (!contentType?.includes("json")) return { body };
  try {
    const { id_token: found, ...rest } = JSON.parse(body) as Record<string, unknown>;
    return typeof found === "string" ? { body: JSON.stringify(rest), found } : { body };
  } catch {
    return { body };
  }
}

export function hostOf(url: string): string {
  return new URL(url).host;
}
