import { z } from "zod";
import {
  authMethods,
  defaultRedirectUri,
  isProtocolParam,
  type Provider,
  providerTypes,
} from "./provider.ts";
import { type ProviderTemplate, revocationStyles } from "./provider-template.ts";
import { knownRevocation } from "./provider-templates.ts";

export const providerIdSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "must start with a letter or digit and hold letters, digits, '.', '_' and '-' only, 128 at most",
  )
  .describe("Chosen by you; part of the redirect URI.");

const name = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, "must not contain control characters");

/** An address of the provider. Credentials in it would end up in logs, a fragment is never sent. */
const endpointUrl = z
  .string()
  .max(2000)
  .refine(isEndpoint, "must be an absolute http(s) URL without credentials and without a fragment");

const clientId = z.string().min(1).max(2000);
const clientSecret = z.string().min(1).max(5000);
const authorizationParams = z
  .record(z.string().min(1).max(200), z.string().max(2000))
  .refine(
    (params) => !Object.keys(params).some(isProtocolParam),
    "must not set parameters of the protocol itself",
  )
  .describe("More parameters of the authorization request, for example access_type=offline.");
const redirectUris = z
  .array(endpointUrl)
  .max(50)
  .describe("URLs, besides the server's own, that may receive the authorization code.");

export const providerCreateRequest = z
  .object({
    provider_id: providerIdSchema,
    template: z
      .string()
      .max(64)
      .nullish()
      .describe("Id of a template that fills in missing fields; GET /v2/auth/provider-templates."),
    name: name.nullish().describe("Required without a template."),
    client_id: clientId,
    client_secret: clientSecret.nullish().describe("Never returned."),
    auth_url: endpointUrl.nullish().describe("Required without a template."),
    token_url: endpointUrl.nullish().describe("Required without a template."),
    revocation_url: endpointUrl
      .nullish()
      .describe("RFC 7009; default: from the template or the server's metadata."),
    issuer: endpointUrl.nullish().describe("The server's issuer; responses with another issuer are refused."),
    uses_pkce: z.boolean().nullish(),
    code_challenge_method: z.literal("S256").nullish(),
    provider_type: z.enum(providerTypes).nullish(),
    token_endpoint_auth_method: z.enum(authMethods).nullish(),
    authorization_params: authorizationParams.nullish(),
    allowed_redirect_uris: redirectUris.nullish(),
  })
  .meta({ id: "OAuthProviderCreateRequest" });
export type ProviderCreateRequest = z.output<typeof providerCreateRequest>;

/** Fields that are left out stay; null clears a field, or sets it back to its default. */
export const providerUpdateRequest = z
  .object({
    name: name.optional(),
    client_id: clientId.optional(),
    client_secret: clientSecret.nullish().describe("Never returned. Null: removes it."),
    auth_url: endpointUrl.optional(),
    token_url: endpointUrl.optional(),
    revocation_url: endpointUrl.nullish().describe("Null: from the template or the server's metadata again."),
    uses_pkce: z.boolean().nullish().describe("Null: the template's, else false."),
    code_challenge_method: z.literal("S256").nullish().describe("Null: S256."),
    token_endpoint_auth_method: z
      .enum(authMethods)
      .nullish()
      .describe("Null: the template's, else client_secret_post."),
    authorization_params: authorizationParams.nullish().describe("Null: none."),
    allowed_redirect_uris: redirectUris.nullish().describe("Null: none besides the server's own."),
  })
  .meta({ id: "OAuthProviderUpdateRequest" });
export type ProviderUpdateRequest = z.output<typeof providerUpdateRequest>;

export const mcpDiscoverRequest = z
  .object({ provider_id: providerIdSchema, name, mcp_server_url: endpointUrl })
  .meta({ id: "McpDiscoverRequest" });

export const providerView = z
  .object({
    id: z.guid(),
    organization_id: z.guid(),
    provider_id: z.string(),
    name: z.string(),
    client_id: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    uses_pkce: z.boolean(),
    code_challenge_method: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    provider_type: z.string().nullable(),
    mcp_server_url: z.string().nullable(),
    token_endpoint_auth_method: z.string().nullable(),
    authorization_params: z.record(z.string(), z.string()).nullable(),
    is_dynamic_client: z.boolean(),
    allowed_redirect_uris: z.array(z.string()).nullable(),
    default_redirect_uri: z.string().describe("The redirect URI to enter at the provider."),
    revocation_url: z.string().nullable().describe("Where tokens are revoked, if known."),
  })
  .meta({ id: "OAuthProvider" });

export const templateView = z
  .object({
    id: z.string(),
    name: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    revocation_url: z.string().nullable(),
    revocation_style: z.enum(revocationStyles).nullable(),
    uses_pkce: z.boolean(),
    token_endpoint_auth_method: z.enum(authMethods),
    authorization_params: z.record(z.string(), z.string()),
    provider_type: z.enum(providerTypes).nullable(),
    extra_scopes: z
      .array(z.string())
      .describe("Requested with every consent; without them there is no refresh token."),
    example_scopes: z.array(z.string()),
    setup_url: z.string().describe("Where to create the client id and secret."),
    default_redirect_uri: z
      .string()
      .describe("What to enter there, for a provider_id that is the template's id."),
    notes: z.array(z.string()),
  })
  .meta({ id: "OAuthProviderTemplate" });

export function toProviderView(provider: Provider, publicUrl: string): z.input<typeof providerView> {
  return {
    id: provider.id,
    organization_id: provider.organization_id,
    provider_id: provider.provider_id,
    name: provider.name,
    client_id: provider.client_id,
    auth_url: provider.auth_url,
    token_url: provider.token_url,
    uses_pkce: provider.uses_pkce,
    code_challenge_method: provider.code_challenge_method,
    created_at: provider.created_at.toISOString(),
    updated_at: provider.updated_at.toISOString(),
    provider_type: provider.provider_type,
    mcp_server_url: provider.mcp_server_url,
    token_endpoint_auth_method: provider.token_endpoint_auth_method,
    authorization_params: provider.authorization_params,
    is_dynamic_client: provider.is_dynamic_client,
    allowed_redirect_uris: provider.allowed_redirect_uris,
    default_redirect_uri: defaultRedirectUri(publicUrl, provider.provider_id),
    revocation_url: knownRevocation(provider)?.url ?? null,
  };
}

export function toTemplateView(template: ProviderTemplate, publicUrl: string): z.input<typeof templateView> {
  const {
    revocation,
    revocation_ends_grant,
    issuer,
    scope_separator,
    assumed_life_seconds,
    userinfo_url,
    identity_scopes,
    ...rest
  } = template;
  return {
    ...rest,
    revocation_url: revocation?.url ?? null,
    revocation_style: revocation?.style ?? null,
    default_redirect_uri: defaultRedirectUri(publicUrl, template.id),
  };
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isHttp = url.protocol === "https:" || url.protocol === "http:";
  return isHttp && url.username === "" && url.password === "" && !text.includes("#");
}
