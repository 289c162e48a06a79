import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import Provider from "oidc-provider";
import { startHttpListener } from "./http-listener.ts";
import { createInteractionHandler, type OAuthAccount } from "./oauth-interaction.ts";
import { createOAuthMemory } from "./oauth-memory.ts";

export interface OAuthClient {
  clientId: string;
  /** Absent for a public client, which proves itself with PKCE alone. */
  clientSecret?: string;
  redirectUris: string[];
  tokenEndpointAuthMethod?: "client_secret_basic" | "client_secret_post" | "none";
}

export interface TokenFault {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

export interface OAuthServerOptions {
  clients?: OAuthClient[];
  accounts?: OAuthAccount[];
  /** "automatic" signs in the first account and allows everything; "form" shows pages to a browser. */
  interaction?: "automatic" | "form";
  /** Scopes beside openid, offline_access, email and profile. */
  scopes?: string[];
  accessTokenTtlSeconds?: number;
  refreshTokenTtlSeconds?: number;
  requirePkce?: boolean;
  rotateRefreshTokens?: boolean;
}

export interface OAuthServer {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
  introspectionEndpoint: string;
  registrationEndpoint: string;
  userinfoEndpoint: string;
  clients: OAuthClient[];
  accounts: OAuthAccount[];
  /** How many requests the token endpoint has received. */
  tokenRequests(): number;
  /** The token endpoint answers with this until it is set to undefined. */
  setTokenFault(fault: TokenFault | undefined): void;
  /** The account's owner removes all access: its tokens, grants and sessions are gone. */
  removeAccess(username: string): void;
  expireAccessTokens(): void;
  stop(): Promise<void>;
}

/** Signing keys made for this server only; without them the package falls back to published ones. */
function createSigningKeys() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: randomUUID() }] };
}

function clientMetadata(client: OAuthClient): Record<string, unknown> {
  const method = client.clientSecret ? "client_secret_basic" : "none";
  return {
    client_id: client.clientId,
    ...(client.clientSecret && { client_secret: client.clientSecret }),
    redirect_uris: client.redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: client.tokenEndpointAuthMethod ?? method,
  };
}

/** A client may revoke and inspect its own tokens only. */
function ownsToken(_context: unknown, client: { clientId: string }, token: { clientId: string }): boolean {
  return token.clientId === client.clientId;
}

function configuration(
  options: OAuthServerOptions,
  clients: OAuthClient[],
  accounts: OAuthAccount[],
): Record<string, unknown> {
  return {
    clients: clients.map(clientMetadata),
    jwks: createSigningKeys(),
    cookies: { keys: [randomBytes(32).toString("hex")] },
    scopes: ["openid", "offline_access", "email", "profile", ...(options.scopes ?? [])],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    pkce: { required: () => options.requirePkce ?? true },
    rotateRefreshToken: options.rotateRefreshTokens ?? true,
    // OpenID would ask for offline_access and a consent prompt first; most providers hand one out.
    issueRefreshToken: async () => true,
    // Bound to the sign-in session the tokens would die with it.
    expiresWithSession: async () => false,
    ttl: {
      AccessToken: options.accessTokenTtlSeconds ?? 3600,
      RefreshToken: options.refreshTokenTtlSeconds ?? 14 * 24 * 3600,
      AuthorizationCode: 60,
      IdToken: 3600,
      Interaction: 3600,
      Session: 14 * 24 * 3600,
      Grant: 14 * 24 * 3600,
    },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: ownsToken },
      introspection: { enabled: true, allowedPolicy: ownsToken },
      registration: { enabled: true },
    },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount(_context: unknown, username: string) {
      const account = accounts.find((candidate) => candidate.username === username);
      if (!account) return undefined;
      return { accountId: username, claims: async () => ({ ...account.claims, sub: username }) };
    },
  };
}

/** A real OAuth 2 and OpenID server: code flow with PKCE, refresh, revocation, introspection, registration. */
export async function startOAuthServer(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  const clients = options.clients ?? [
    {
      clientId: "test-client",
      clientSecret: randomBytes(16).toString("hex"),
      redirectUris: ["http://127.0.0.1/callback"],
    },
  ];
  const accounts = options.accounts ?? [
    {
      username: "ada",
      password: randomBytes(8).toString("hex"),
      claims: { name: "Ada", email: "ada@example.com", email_verified: true },
    },
  ];
  const memory = createOAuthMemory();
  let tokenRequests = 0;
  let tokenFault: TokenFault | undefined;

  const listener = await startHttpListener((origin) => {
    const provider = new Provider(origin, {
      ...configuration(options, clients, accounts),
      adapter: memory.adapterFor,
    });
    const handleProtocol = provider.callback();
    const handleInteraction = createInteractionHandler(provider, {
      accounts,
      automaticAccount: options.interaction === "form" ? undefined : accounts[0]?.username,
    });
    return (request, response) => {
      if (request.url?.startsWith("/interaction/")) {
        handleInteraction(request, response).catch((error: unknown) => {
          response.writeHead(400, { "content-type": "text/plain" }).end(`Sign-in failed: ${error}\n`);
        });
        return;
      }
      if (request.url === "/token") {
        tokenRequests += 1;
        if (tokenFault) {
          request.resume();
          response.writeHead(tokenFault.status, tokenFault.headers).end(tokenFault.body);
          return;
        }
      }
      handleProtocol(request, response);
    };
  });
  const issuer = listener.origin;

  return {
    issuer,
    authorizationEndpoint: `${issuer}/auth`,
    tokenEndpoint: `${issuer}/token`,
    revocationEndpoint: `${issuer}/token/revocation`,
    introspectionEndpoint: `${issuer}/token/introspection`,
    registrationEndpoint: `${issuer}/reg`,
    userinfoEndpoint: `${issuer}/me`,
    clients,
    accounts,
    tokenRequests: () => tokenRequests,
    setTokenFault(fault) {
      tokenFault = fault;
    },
    removeAccess: (username) => void memory.forgetAccount(username),
    expireAccessTokens: () => void memory.forgetAccessTokens(),
    stop: listener.stop,
  };
}
