import { expect } from "vitest";
import { type AuthServiceApp, giveConsent, type Person } from "./auth-service-app.ts";
import type { OAuthServer } from "./components/oauth-server.ts";

export const clientId = "treadle";
export const clientSecret = "a-client-secret-that-nobody-may-see";

/** The redirect URI a test's provider is reached at. */
export function callbackUri(url: string, providerId: string): string {
  return `${url}/host-oauth-callback/${providerId}`;
}

/** What POST /v2/auth/providers needs for a real server. */
export function providerBody(server: OAuthServer, more: Record<string, unknown> = {}) {
  return {
    provider_id: "test",
    name: "Test",
    client_id: clientId,
    client_secret: clientSecret,
    auth_url: server.authorizationEndpoint,
    token_url: server.tokenEndpoint,
    uses_pkce: true,
    token_endpoint_auth_method: "client_secret_basic",
    ...more,
  };
}

export type Pending = { status: string; url: string; auth_id: string };

export async function startConsent(
  app: AuthServiceApp,
  body: Record<string, unknown> = {},
  person: Person = app.admin,
): Promise<Pending> {
  const { status, body: pending } = await app.call<Pending>("POST", "/v2/auth/authenticate", {
    key: person.key,
    body: { provider: "test", scopes: ["openid"], ...body },
  });
  expect(status).toBe(200);
  expect(pending).toMatchObject({ status: "pending", auth_id: expect.any(String) });
  return pending;
}

/** The whole way: asked for, granted at the provider, finished by the initiator. Returns the token's id. */
export async function connect(
  app: AuthServiceApp,
  body: Record<string, unknown> = {},
  person: Person = app.admin,
): Promise<{ tokenId: string; authId: string }> {
  const pending = await startConsent(app, body, person);
  // As the page of a consent does, to which an agent's address leads.
  const path = `/v2/auth/authorizations/${pending.auth_id}`;
  const consent = await app.call<{ url: string }>("GET", path, { key: person.key });
  const arrived = await giveConsent(consent.body.url);
  const finished = await finish(app, arrived, person);
  expect(finished.body).toMatchObject({ status: "completed" });
  return { tokenId: finished.body.token_id as string, authId: pending.auth_id };
}

/** What the callback page does with the address it was opened at. */
export function finish(app: AuthServiceApp, arrived: URL, person: Person = app.admin, providerId?: string) {
  const name = providerId ?? arrived.pathname.split("/").at(-1)!;
  return app.call("POST", `/v2/auth/callback/${name}`, {
    key: person.key,
    body: Object.fromEntries(arrived.searchParams),
  });
}
