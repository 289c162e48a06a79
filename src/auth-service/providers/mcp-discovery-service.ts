import type * as oauth from "oauth4webapi";
import { AppError } from "../../platform/errors.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import type { EndpointCheck } from "./endpoint-check-service.ts";
import {
  chooseAuthMethod,
  coversResource,
  readResourceMetadata,
  resourceMetadataHint,
  wellKnownUrls,
} from "./mcp-metadata.ts";
import { hostOf, type OAuthClient, providerTimeoutMs, type RegisteredClient } from "./oauth-client.ts";
import { describeOAuthFailure } from "./oauth-failure.ts";
import type { NewProvider } from "./provider.ts";

export type DiscoveredProvider = Pick<
  NewProvider,
  | "client_id"
  | "auth_url"
  | "token_url"
  | "revocation_url"
  | "issuer"
  | "uses_pkce"
  | "code_challenge_method"
  | "mcp_server_url"
  | "resource"
  | "token_endpoint_auth_method"
  | "is_dynamic_client"
> & { clientSecret: string | null };

export type DiscoveryRequest = { serverUrl: string; clientName: string; redirectUri: string };

const maxResponseBytes = 1024 * 1024;

type McpDiscoveryOptions = {
  guard: NetworkGuard;
  client: OAuthClient;
  checkEndpoint: EndpointCheck;
};

/**
 * From the address of an MCP server to a client registered at its authorization server: RFC 9728, RFC 8414 and
 * RFC 7591 in turn. A step that fails is named in the error, with what to do instead.
 */
export class McpDiscovery {
  readonly #options: McpDiscoveryOptions;

  constructor(options: McpDiscoveryOptions) {
    this.#options = options;
  }

  async discover({ serverUrl, clientName, redirectUri }: DiscoveryRequest): Promise<DiscoveredProvider> {
    await this.#options.checkEndpoint("mcp_server_url", serverUrl);
    const resource = await this.#findResource(serverUrl);
    const issuer = resource?.authorization_servers[0] ?? new URL(serverUrl).origin;
    if (!URL.canParse(issuer))
      throw discoveryFailed("The server names an authorization server that is not a URL.");
    const server = await this.#findServer(issuer);
    const endpoints = endpointsOf(server, issuer);
    for (const url of Object.values(endpoints)) await this.#options.checkEndpoint("mcp_server_url", url);
    const method = chooseAuthMethod(server.token_endpoint_auth_methods_supported);
    // No `resource` here: it belongs to the requests, and servers refuse unknown members.
    const registered = await this.#register(server, endpoints.registration, {
      client_name: clientName,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
    });
    const clientSecret = registered.client_secret ?? null;
    return {
      client_id: registered.client_id,
      clientSecret,
      auth_url: endpoints.authorization,
      token_url: endpoints.token,
      revocation_url: server.revocation_endpoint ?? null,
      issuer: server.issuer,
      uses_pkce: true,
      code_challenge_method: "S256",
      mcp_server_url: serverUrl,
      resource: resource?.resource ?? null,
      token_endpoint_auth_method:
        clientSecret === null ? "none" : chooseAuthMethod([registered.token_endpoint_auth_method ?? method]),
      is_dynamic_client: true,
    };
  }

  async #register(
    server: oauth.AuthorizationServer,
    endpoint: string,
    metadata: Parameters<OAuthClient["register"]>[1],
  ): Promise<RegisteredClient> {
    try {
      return await this.#options.client.register(server, metadata);
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(endpoint),
        step: "the registration of a client",
        secrets: [],
      });
    }
  }

  #read(url: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
    return this.#options.guard.guardedFetch(url, {
      ...init,
      timeoutMs: providerTimeoutMs,
      maxResponseBytes,
      redirect: "manual",
    });
  }

  /** The address of its metadata from the server's refusal; null when it names none. */
  async #askServer(serverUrl: string): Promise<string | null> {
    const answer = await this.#read(serverUrl, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-06-18",
          capabilities: {},
          clientInfo: { name: "treadle", version: "1" },
        },
      }),
    });
    return resourceMetadataHint(answer.headers.get("www-authenticate"), serverUrl);
  }

  /** Null: the server publishes none, and is taken for its own authorization server, as older ones are. */
  async #findResource(serverUrl: string) {
    const hint = await this.#askServer(serverUrl);
    for (const url of hint === null ? wellKnownUrls(serverUrl) : [hint]) {
      const answer = await this.#read(url, { headers: { accept: "application/json" } });
      if (answer.status !== 200) continue;
      const metadata = readResourceMetadata(await answer.text());
      if (metadata === null) {
        throw discoveryFailed(`The metadata at ${shown(url)} is not a JSON object with a string "resource".`);
      }
      if (!coversResource(metadata.resource, serverUrl)) {
        throw discoveryFailed(
          `The metadata at ${shown(url)} is about another resource (${shown(metadata.resource)}), not about this server.`,
        );
      }
      return metadata;
    }
    return null;
  }

  async #findServer(issuer: string): Promise<oauth.AuthorizationServer> {
    let server: oauth.AuthorizationServer | null;
    try {
      server = await this.#options.client.discover(new URL(issuer));
    } catch (error) {
      throw describeOAuthFailure(error, {
        host: hostOf(issuer),
        step: "the request for its metadata",
        secrets: [],
      });
    }
    if (server === null) {
      throw discoveryFailed(`The authorization server ${shown(issuer)} publishes no metadata (RFC 8414).`);
    }
    return server;
  }
}

/** What a client needs of the server; refused when it lacks something. */
function endpointsOf(
  server: oauth.AuthorizationServer,
  issuer: string,
): { authorization: string; token: string; registration: string } {
  const { authorization_endpoint, token_endpoint, registration_endpoint } = server;
  if (!authorization_endpoint || !token_endpoint) {
    throw discoveryFailed(`${shown(issuer)} names no authorization or token endpoint in its metadata.`);
  }
  if (!server.code_challenge_methods_supported?.includes("S256")) {
    throw discoveryFailed(
      `${shown(issuer)} does not declare that it supports PKCE with S256, which MCP requires.`,
    );
  }
  if (!registration_endpoint) {
    throw discoveryFailed(`${shown(issuer)} does not let clients register themselves (RFC 7591).`);
  }
  return {
    authorization: authorization_endpoint,
    token: token_endpoint,
    registration: registration_endpoint,
  };
}

function discoveryFailed(reason: string): AppError {
  return new AppError({
    code: "provider.discovery_failed",
    kind: "invalid",
    message: `${reason} Create the provider by hand instead (POST /v2/auth/providers), with a client id from the server's operator.`,
  });
}

function shown(text: string): string {
  return text.slice(0, 200);
}
