import type { Provider } from "./provider.ts";
import { defineTemplate, type ProviderTemplate, type RevocationStyle } from "./provider-template.ts";

const rfc7009 = (url: string) => ({ url, style: "rfc7009" as const });

/** Well-known providers, by id. */
export const providerTemplates: readonly ProviderTemplate[] = [
  defineTemplate({
    id: "asana",
    name: "Asana",
    auth_url: "https://app.asana.com/-/oauth_authorize",
    token_url: "https://app.asana.com/-/oauth_token",
    revocation: rfc7009("https://app.asana.com/-/oauth_revoke"),
    example_scopes: ["default"],
    userinfo_url: "https://app.asana.com/api/1.0/users/me",
    setup_url: "https://app.asana.com/0/my-apps",
  }),
  defineTemplate({
    id: "atlassian",
    name: "Atlassian (Jira, Confluence)",
    auth_url: "https://auth.atlassian.com/authorize",
    token_url: "https://auth.atlassian.com/oauth/token",
    uses_pkce: false,
    authorization_params: { audience: "api.atlassian.com", prompt: "consent" },
    extra_scopes: ["offline_access"],
    example_scopes: ["read:jira-work"],
    userinfo_url: "https://api.atlassian.com/me",
    identity_scopes: ["read:me"],
    setup_url: "https://developer.atlassian.com/console/myapps/",
    notes: ["Refresh tokens rotate. There is no revocation endpoint: people remove access in their account."],
  }),
  defineTemplate({
    id: "box",
    name: "Box",
    auth_url: "https://account.box.com/api/oauth2/authorize",
    token_url: "https://api.box.com/oauth2/token",
    revocation: rfc7009("https://api.box.com/oauth2/revoke"),
    uses_pkce: false,
    example_scopes: ["root_readonly"],
    userinfo_url: "https://api.box.com/2.0/users/me",
    setup_url: "https://app.box.com/developers/console",
    notes: ["Refresh tokens work once and rotate."],
  }),
  defineTemplate({
    id: "discord",
    name: "Discord",
    auth_url: "https://discord.com/oauth2/authorize",
    token_url: "https://discord.com/api/oauth2/token",
    revocation: rfc7009("https://discord.com/api/oauth2/token/revoke"),
    revocation_ends_grant: true,
    example_scopes: ["identify", "email"],
    userinfo_url: "https://discord.com/api/users/@me",
    identity_scopes: ["identify"],
    setup_url: "https://discord.com/developers/applications",
  }),
  defineTemplate({
    id: "dropbox",
    name: "Dropbox",
    auth_url: "https://www.dropbox.com/oauth2/authorize",
    token_url: "https://api.dropboxapi.com/oauth2/token",
    revocation: { url: "https://api.dropboxapi.com/2/auth/token/revoke", style: "bearer" },
    authorization_params: { token_access_type: "offline" },
    example_scopes: ["files.metadata.read"],
    setup_url: "https://www.dropbox.com/developers/apps",
  }),
  defineTemplate({
    id: "github",
    name: "GitHub",
    auth_url: "https://github.com/login/oauth/authorize",
    token_url: "https://github.com/login/oauth/access_token",
    revocation: { url: "https://api.github.com/applications/{client_id}/grant", style: "github" },
    revocation_ends_grant: true,
    example_scopes: ["repo", "read:user"],
    userinfo_url: "https://api.github.com/user",
    identity_scopes: ["read:user"],
    setup_url: "https://github.com/settings/developers",
    notes: [
      "Scopes come back separated by commas, errors with status 200.",
      "Revoking removes the app's whole grant for the person: all their tokens of this app end.",
    ],
  }),
  defineTemplate({
    id: "gitlab",
    name: "GitLab",
    auth_url: "https://gitlab.com/oauth/authorize",
    token_url: "https://gitlab.com/oauth/token",
    issuer: "https://gitlab.com",
    revocation: rfc7009("https://gitlab.com/oauth/revoke"),
    example_scopes: ["read_api"],
    userinfo_url: "https://gitlab.com/oauth/userinfo",
    identity_scopes: ["openid", "profile"],
    setup_url: "https://gitlab.com/-/user_settings/applications",
  }),
  defineTemplate({
    id: "google",
    name: "Google",
    auth_url: "https://accounts.google.com/o/oauth2/v2/auth",
    token_url: "https://oauth2.googleapis.com/token",
    issuer: "https://accounts.google.com",
    revocation: rfc7009("https://oauth2.googleapis.com/revoke"),
    revocation_ends_grant: true,
    authorization_params: { access_type: "offline", prompt: "consent", include_granted_scopes: "true" },
    extra_scopes: ["openid", "email"],
    example_scopes: ["https://www.googleapis.com/auth/calendar.readonly"],
    userinfo_url: "https://openidconnect.googleapis.com/v1/userinfo",
    identity_scopes: ["openid", "email", "profile"],
    setup_url: "https://console.cloud.google.com/apis/credentials",
    notes: ["Without access_type=offline and prompt=consent there is no refresh token."],
  }),
  defineTemplate({
    id: "hubspot",
    name: "HubSpot",
    auth_url: "https://app.hubspot.com/oauth/authorize",
    token_url: "https://api.hubapi.com/oauth/v1/token",
    uses_pkce: false,
    extra_scopes: ["oauth"],
    example_scopes: ["crm.objects.contacts.read"],
    setup_url: "https://developers.hubspot.com/",
  }),
  defineTemplate({
    id: "linear",
    name: "Linear",
    auth_url: "https://linear.app/oauth/authorize",
    token_url: "https://api.linear.app/oauth/token",
    revocation: rfc7009("https://api.linear.app/oauth/revoke"),
    scope_separator: ",",
    example_scopes: ["read", "write"],
    setup_url: "https://linear.app/settings/api/applications/new",
  }),
  defineTemplate({
    id: "linkedin",
    name: "LinkedIn",
    auth_url: "https://www.linkedin.com/oauth/v2/authorization",
    token_url: "https://www.linkedin.com/oauth/v2/accessToken",
    revocation: rfc7009("https://www.linkedin.com/oauth/v2/revoke"),
    uses_pkce: false,
    example_scopes: ["openid", "profile", "email"],
    userinfo_url: "https://api.linkedin.com/v2/userinfo",
    setup_url: "https://www.linkedin.com/developers/apps",
  }),
  defineTemplate({
    id: "microsoft",
    name: "Microsoft",
    auth_url: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
    token_url: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    provider_type: "microsoft",
    extra_scopes: ["offline_access"],
    example_scopes: ["User.Read", "Mail.Read"],
    userinfo_url: "https://graph.microsoft.com/v1.0/me",
    identity_scopes: ["User.Read"],
    setup_url: "https://entra.microsoft.com/",
    notes: [
      "There is no revocation endpoint: a token is deleted here and ends at Microsoft when it expires.",
    ],
  }),
  defineTemplate({
    id: "notion",
    name: "Notion",
    auth_url: "https://api.notion.com/v1/oauth/authorize",
    token_url: "https://api.notion.com/v1/oauth/token",
    revocation: { url: "https://api.notion.com/v1/oauth/revoke", style: "json_basic" },
    uses_pkce: false,
    token_endpoint_auth_method: "client_secret_basic",
    authorization_params: { owner: "user" },
    setup_url: "https://www.notion.so/profile/integrations",
    notes: ["Has no scopes: what an integration may do is set where it is made."],
  }),
  defineTemplate({
    id: "salesforce",
    name: "Salesforce",
    auth_url: "https://login.salesforce.com/services/oauth2/authorize",
    token_url: "https://login.salesforce.com/services/oauth2/token",
    revocation: rfc7009("https://login.salesforce.com/services/oauth2/revoke"),
    provider_type: "salesforce",
    extra_scopes: ["refresh_token"],
    assumed_life_seconds: 3600,
    example_scopes: ["api"],
    userinfo_url: "https://login.salesforce.com/services/oauth2/userinfo",
    identity_scopes: ["openid"],
    setup_url: "https://login.salesforce.com/",
    notes: [
      "Sends no lifetime; a token is assumed to be valid for an hour. metadata.instance_url names the API host.",
    ],
  }),
  defineTemplate({
    id: "slack",
    name: "Slack",
    auth_url: "https://slack.com/oauth/v2/authorize",
    token_url: "https://slack.com/api/oauth.v2.access",
    revocation: { url: "https://slack.com/api/auth.revoke", style: "slack" },
    uses_pkce: false,
    provider_type: "slack",
    scope_separator: ",",
    example_scopes: ["chat:write", "channels:read"],
    userinfo_url: "https://slack.com/api/auth.test",
    identity_scopes: ["users:read"],
    setup_url: "https://api.slack.com/apps",
    notes: ["Answers with status 200 and ok: false on errors. Tokens refresh only where rotation is on."],
  }),
  defineTemplate({
    id: "spotify",
    name: "Spotify",
    auth_url: "https://accounts.spotify.com/authorize",
    token_url: "https://accounts.spotify.com/api/token",
    token_endpoint_auth_method: "client_secret_basic",
    example_scopes: ["user-read-email"],
    userinfo_url: "https://api.spotify.com/v1/me",
    setup_url: "https://developer.spotify.com/dashboard",
    notes: ["There is no revocation endpoint: people remove access in their account."],
  }),
  defineTemplate({
    id: "x",
    name: "X",
    auth_url: "https://x.com/i/oauth2/authorize",
    token_url: "https://api.x.com/2/oauth2/token",
    revocation: rfc7009("https://api.x.com/2/oauth2/revoke"),
    token_endpoint_auth_method: "client_secret_basic",
    provider_type: "x",
    extra_scopes: ["offline.access"],
    example_scopes: ["tweet.read", "users.read"],
    userinfo_url: "https://api.x.com/2/users/me",
    identity_scopes: ["users.read", "tweet.read"],
    setup_url: "https://developer.x.com/en/portal/dashboard",
    notes: ["PKCE is required. Refresh tokens rotate."],
  }),
  defineTemplate({
    id: "zoom",
    name: "Zoom",
    auth_url: "https://zoom.us/oauth/authorize",
    token_url: "https://zoom.us/oauth/token",
    revocation: rfc7009("https://zoom.us/oauth/revoke"),
    token_endpoint_auth_method: "client_secret_basic",
    example_scopes: ["user:read:user"],
    userinfo_url: "https://api.zoom.us/v2/users/me",
    setup_url: "https://marketplace.zoom.us/",
  }),
];

export function findTemplate(id: string): ProviderTemplate | undefined {
  return providerTemplates.find((template) => template.id === id);
}

/** The template a provider was made from, or the one whose token endpoint it uses. */
export function templateOf(
  provider: Pick<Provider, "template" | "token_url" | "provider_type">,
): ProviderTemplate | undefined {
  if (provider.template !== null) return findTemplate(provider.template);
  const host = new URL(provider.token_url).hostname;
  const sameHost = providerTemplates.find((template) => new URL(template.token_url).hostname === host);
  if (sameHost) return sameHost;
  // A company has a host of its own there.
  if (host.endsWith(".salesforce.com")) return findTemplate("salesforce");
  return provider.provider_type === null ? undefined : findTemplate(provider.provider_type);
}

/**
 * Where a grant is taken back, as far as is known without asking. A template's address is used only with that
 * template's own token endpoint: a token must not be sent to a server that did not issue it.
 */
export function knownRevocation(provider: Provider): { url: string; style: RevocationStyle } | null {
  const template = templateOf(provider);
  const style = template?.revocation?.style ?? "rfc7009";
  if (provider.revocation_url !== null) return { url: provider.revocation_url, style };
  if (template?.revocation && isServedBy(provider, template)) return template.revocation;
  return provider.found_revocation_url === null
    ? null
    : { url: provider.found_revocation_url, style: "rfc7009" };
}

/** Where to revoke an earlier token would take the new one along. */
export function revocationEndsGrant(provider: Provider): boolean {
  return templateOf(provider)?.revocation_ends_grant ?? false;
}

/** Where to ask whose account it is, as far as is known without asking; only ever the server that issued the token. */
export function knownUserinfo(provider: Provider): string | null {
  const template = templateOf(provider);
  return template && isServedBy(provider, template) ? template.userinfo_url : null;
}

function isServedBy(provider: Provider, template: ProviderTemplate): boolean {
  return new URL(provider.token_url).hostname === new URL(template.token_url).hostname;
}

/** The requested scopes: the wanted ones and those without which the provider gives no refresh token. */
export function scopesToRequest(provider: Provider, wanted: readonly string[]): string[] {
  return [...new Set([...wanted, ...(templateOf(provider)?.extra_scopes ?? [])])];
}

/** Null: the token has no known end. One that cannot be refreshed is used until the provider refuses it. */
export function lifeSecondsOf(
  provider: Provider,
  granted: { expiresInSeconds: number | null; refreshToken: string | null },
): number | null {
  if (granted.expiresInSeconds !== null || granted.refreshToken === null) return granted.expiresInSeconds;
  return templateOf(provider)?.assumed_life_seconds ?? null;
}
