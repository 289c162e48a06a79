import type { AuthMethod, ProviderType } from "./provider.ts";

/**
 * How a grant is taken back at the provider.
 * - `rfc7009`: POST with the token and the client's credentials.
 * - `github`: DELETE of the app's whole grant, client credentials as Basic, the token in JSON.
 * - `slack`: the token authorises its own revocation; the body of the answer has `ok`.
 * - `bearer`: an empty POST that carries the token as Bearer.
 * - `json_basic`: POST of the token in JSON, client credentials as Basic.
 */
export const revocationStyles = ["rfc7009", "github", "slack", "bearer", "json_basic"] as const;
export type RevocationStyle = (typeof revocationStyles)[number];

/** All there is to know about a well-known provider besides a client id and a secret. */
export type ProviderTemplate = {
  id: string;
  name: string;
  auth_url: string;
  token_url: string;
  issuer: string | null;
  revocation: { url: string; style: RevocationStyle } | null;
  /** Revoking one token ends every token the person gave this client. */
  revocation_ends_grant: boolean;
  uses_pkce: boolean;
  token_endpoint_auth_method: AuthMethod;
  authorization_params: Record<string, string>;
  provider_type: ProviderType | null;
  /** Asked for with every consent: without them there is no refresh token. */
  extra_scopes: string[];
  /** How the provider wants scopes written in one text. */
  scope_separator: " " | ",";
  /** For providers that send no `expires_in`. */
  assumed_life_seconds: number | null;
  example_scopes: string[];
  /** Who the account belongs to, asked with the token as Bearer; null where that takes more than a GET. */
  userinfo_url: string | null;
  /** What must be granted to ask that. */
  identity_scopes: string[];
  /** Where a person makes the client id and secret. */
  setup_url: string;
  notes: string[];
};

export type TemplateDefaults = Partial<ProviderTemplate> &
  Pick<ProviderTemplate, "id" | "name" | "auth_url" | "token_url" | "setup_url">;

/** The common case, so that the catalogue only lists what differs. */
export function defineTemplate(given: TemplateDefaults): ProviderTemplate {
  return {
    issuer: null,
    revocation: null,
    revocation_ends_grant: false,
    uses_pkce: true,
    token_endpoint_auth_method: "client_secret_post",
    authorization_params: {},
    provider_type: null,
    extra_scopes: [],
    scope_separator: " ",
    assumed_life_seconds: null,
    example_scopes: [],
    userinfo_url: null,
    identity_scopes: given.example_scopes ?? [],
    notes: [],
    ...given,
  };
}
