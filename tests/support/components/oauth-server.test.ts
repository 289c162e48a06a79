import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OAuthServer, startOAuthServer } from "./oauth-server.ts";

describe("the OAuth server", () => {
  const callback = "http://127.0.0.1/callback";
  let server: OAuthServer;
  beforeAll(async () => {
    server = await startOAuthServer({ scopes: ["calendar.read"] });
  });
  afterAll(() => server?.stop());

  const post = (url: string, form: Record<string, string>, secret = server.clients[0]?.clientSecret) =>
    fetch(url, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${server.clients[0]?.clientId}:${secret}`).toString("base64")}`,
      },
      body: new URLSearchParams(form),
    });

  /** Follows redirects with cookies, as a browser would, until the client's callback is reached. */
  const authorize = async (query: Record<string, string>): Promise<URL> => {
    let url = new URL(`${server.authorizationEndpoint}?${new URLSearchParams(query)}`);
    const cookies = new Map<string, string>();
    for (let hop = 0; hop < 10 && !url.href.startsWith(callback); hop += 1) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await fetch(url, { redirect: "manual", headers: { cookie } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name!, value!);
      }
      const next = answer.headers.get("location");
      if (!next) throw new Error(`${url.pathname} answered ${answer.status}: ${await answer.text()}`);
      url = new URL(next, url);
    }
    return url;
  };

  const obtainTokens = async () => {
    const verifier = randomBytes(32).toString("base64url");
    const arrived = await authorize({
      client_id: server.clients[0]!.clientId,
      response_type: "code",
      redirect_uri: callback,
      scope: "openid calendar.read",
      state: "the-state",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    });
    expect(arrived.searchParams.get("state")).toBe("the-state");
    const code = arrived.searchParams.get("code")!;
    const exchange = (codeVerifier: string) =>
      post(server.tokenEndpoint, {
        grant_type: "authorization_code",
        code,
        redirect_uri: callback,
        code_verifier: codeVerifier,
      });
    return { exchange, verifier };
  };
  const tokens = async () => {
    const { exchange, verifier } = await obtainTokens();
    const answer = await exchange(verifier);
    expect(answer.status).toBe(200);
    return (await answer.json()) as { access_token: string; refresh_token: string; scope: string };
  };
  const introspect = async (token: string) =>
    (await (await post(server.introspectionEndpoint, { token })).json()) as Record<string, unknown>;
  const refresh = (token: string) =>
    post(server.tokenEndpoint, { grant_type: "refresh_token", refresh_token: token });

  it("publishes the endpoints it names", async () => {
    const metadata = (await (
      await fetch(`${server.issuer}/.well-known/openid-configuration`)
    ).json()) as unknown;
    expect(metadata).toMatchObject({
      issuer: server.issuer,
      authorization_endpoint: server.authorizationEndpoint,
      token_endpoint: server.tokenEndpoint,
      revocation_endpoint: server.revocationEndpoint,
      introspection_endpoint: server.introspectionEndpoint,
      registration_endpoint: server.registrationEndpoint,
      userinfo_endpoint: server.userinfoEndpoint,
      code_challenge_methods_supported: ["S256"],
    });
  });

  it("exchanges a code for tokens that are active", async () => {
    const issued = await tokens();
    expect(issued.scope).toBe("openid calendar.read");
    expect(await introspect(issued.access_token)).toMatchObject({ active: true, sub: "ada" });
    const me = await fetch(server.userinfoEndpoint, {
      headers: { authorization: `Bearer ${issued.access_token}` },
    });
    expect(await me.json()).toEqual({ sub: "ada" });
  });

  it("refuses a code with the wrong verifier and a wrong client secret", async () => {
    const { exchange } = await obtainTokens();
    const answer = await exchange(randomBytes(32).toString("base64url"));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: "invalid_grant" });
    const wrongSecret = await post(server.introspectionEndpoint, { token: "x" }, "wrong");
    expect(wrongSecret.status).toBe(401);
  });

  it("requires PKCE", async () => {
    const arrived = await authorize({
      client_id: server.clients[0]!.clientId,
      response_type: "code",
      redirect_uri: callback,
      scope: "openid",
    });
    expect(arrived.searchParams.get("error")).toBe("invalid_request");
  });

  it("rotates refresh tokens and ends the grant when an old one is used again", async () => {
    const first = await tokens();
    const second = (await (await refresh(first.refresh_token)).json()) as typeof first;
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(await introspect(second.access_token)).toMatchObject({ active: true });
    expect(await (await refresh(first.refresh_token)).json()).toMatchObject({ error: "invalid_grant" });
    expect(await (await refresh(second.refresh_token)).json()).toMatchObject({ error: "invalid_grant" });
  });

  it("revokes tokens", async () => {
    const issued = await tokens();
    expect((await post(server.revocationEndpoint, { token: issued.refresh_token })).status).toBe(200);
    expect(await introspect(issued.refresh_token)).toEqual({ active: false });
    expect(await introspect(issued.access_token)).toEqual({ active: false });
    expect((await refresh(issued.refresh_token)).status).toBe(400);
  });

  it("forgets access tokens, whole accounts, and fails on demand", async () => {
    const issued = await tokens();
    server.expireAccessTokens();
    expect(await introspect(issued.access_token)).toEqual({ active: false });
    server.setTokenFault({ status: 503, body: "down" });
    const before = server.tokenRequests();
    expect((await refresh(issued.refresh_token)).status).toBe(503);
    expect(server.tokenRequests()).toBe(before + 1);
    server.setTokenFault(undefined);
    expect((await refresh(issued.refresh_token)).status).toBe(200);
    const other = await tokens();
    server.removeAccess("ada");
    expect(await introspect(other.refresh_token)).toEqual({ active: false });
  });

  it("registers a client that can then be used", async () => {
    const answer = await fetch(server.registrationEndpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: "none" }),
    });
    expect(answer.status).toBe(201);
    const { client_id } = (await answer.json()) as { client_id: string };
    const arrived = await authorize({
      client_id,
      response_type: "code",
      redirect_uri: callback,
      scope: "openid",
      code_challenge: createHash("sha256").update("v".repeat(43)).digest("base64url"),
      code_challenge_method: "S256",
    });
    expect(arrived.searchParams.get("code")).toBeTruthy();
  });
});
