import type { Provider } from "../providers/provider.ts";
import { templateOf } from "../providers/provider-templates.ts";

/** The address where a person gives consent. */
export function authorizationUrl(
  provider: Provider,
  request: { state: string; redirectUri: string; scopes: readonly string[]; codeChallenge: string | null },
): string {
  const url = new URL(provider.auth_url);
  const params = url.searchParams;
  for (const [name, value] of Object.entries(provider.authorization_params ?? {})) params.set(name, value);
  params.set("response_type", "code");
  params.set("client_id", provider.client_id);
  params.set("redirect_uri", request.redirectUri);
  params.set("state", request.state);
  if (request.scopes.length > 0) {
    params.set("scope", request.scopes.join(templateOf(provider)?.scope_separator ?? " "));
  }
  if (request.codeChallenge !== null) {
    params.set("code_challenge", request.codeChallenge);
    params.set("code_challenge_method", "S256");
  }
  if (provider.resource !== null) params.set("resource", provider.resource);
  return url.href;
}
