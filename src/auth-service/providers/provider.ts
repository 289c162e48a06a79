import { AppError } from "../../platform/errors.ts";

export const authMethods = ["none", "client_secret_basic", "client_secret_post"] as const;
export type AuthMethod = (typeof authMethods)[number];

export const providerTypes = ["microsoft", "salesforce", "slack", "x"] as const;
export type ProviderType = (typeof providerTypes)[number];

/** How people, consents and tokens reach one OAuth server. The client secret stays sealed until it is sent. */
export type Provider = {
  id: string;
  organization_id: string;
  /** Null: a platform provider. */
  workspace_id: string | null;
  provider_id: string;
  name: string;
  client_id: string;
  client_secret_sealed: string | null;
  auth_url: string;
  token_url: string;
  revocation_url: string | null;
  found_revocation_url: string | null;
  metadata_checked_at: Date | null;
  issuer: string | null;
  uses_pkce: boolean;
  code_challenge_method: string | null;
  provider_type: string | null;
  template: string | null;
  mcp_server_url: string | null;
  resource: string | null;
  token_endpoint_auth_method: AuthMethod;
  authorization_params: Record<string, string> | null;
  is_dynamic_client: boolean;
  allowed_redirect_uris: string[];
  created_at: Date;
  updated_at: Date;
};

/** What an insert needs; the rest is the store's. */
export type NewProvider = Omit<Provider, "found_revocation_url" | "metadata_checked_at" | "updated_at">;

export const callbackPath = "/host-oauth-callback";

/** The address to enter at the provider: every provider has its own, so that answers cannot be mixed up. */
export function defaultRedirectUri(publicUrl: string, providerId: string): string {
  return `${publicUrl}${callbackPath}/${encodeURIComponent(providerId)}`;
}

/** The same callback as the paths of the API name it. */
function ownRedirectUris(publicUrl: string, providerId: string): string[] {
  const name = encodeURIComponent(providerId);
  return [
    defaultRedirectUri(publicUrl, providerId),
    `${publicUrl}/v2/auth/callback/${name}`,
    `${publicUrl}/api-host/v2/auth/callback/${name}`,
  ];
}

/** Exact comparison, as RFC 9700 asks: a prefix would let a code go to another page of the same host. */
export function mayRedirectTo(provider: Provider, publicUrl: string, uri: string): boolean {
  return (
    ownRedirectUris(publicUrl, provider.provider_id).includes(uri) ||
    provider.allowed_redirect_uris.includes(uri)
  );
}

/**
 * Whether secrets kept for this provider would go to a server they were not meant for. A user who may change an address
 * must not be able to have the client secret, or other people's tokens, sent to their own server.
 */
export function leavesItsServer(
  before: Pick<Provider, "token_url" | "revocation_url">,
  after: Pick<Provider, "token_url" | "revocation_url">,
): boolean {
  const trusted = [before.token_url, before.revocation_url].filter((url) => url !== null).map(originOf);
  const used = [after.token_url, after.revocation_url].filter((url) => url !== null).map(originOf);
  return used.some((origin) => !trusted.includes(origin));
}

function originOf(url: string): string {
  return new URL(url).origin;
}

/** Parameters of the authorization request that belong to the protocol and cannot be set by a provider's extras. */
const protocolParams = new Set([
  "client_id",
  "response_type",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "resource",
  "request",
  "request_uri",
  "client_secret",
]);

export function isProtocolParam(name: string): boolean {
  return protocolParams.has(name.toLowerCase());
}

export function providerNotFound(providerId: string): AppError {
  return new AppError({
    code: "provider.not_found",
    kind: "not_found",
    message: `OAuth provider ${shown(providerId)} not found. GET /v2/auth/providers lists the ones of this workspace.`,
  });
}

export function providerExists(providerId: string): AppError {
  return new AppError({
    code: "provider.exists",
    kind: "conflict",
    message: `An OAuth provider with the id ${shown(providerId)} exists already. Choose another id, or change that one.`,
  });
}

export function providerInUse(): AppError {
  return new AppError({
    code: "provider.in_use",
    kind: "conflict",
    message:
      "This provider has tokens, and its new URL is on another server: they would be sent there. Create another provider for it, or delete this one.",
  });
}

function shown(text: string): string {
  return `'${text.slice(0, 128)}'`;
}
