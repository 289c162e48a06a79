import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { connect } from "../../../tests/support/auth-service-provider.ts";
import { startHttpListener } from "../../../tests/support/components/http-listener.ts";
import { type OAuthServer, startOAuthServer } from "../../../tests/support/components/oauth-server.ts";

let app: AuthServiceApp;
let server: OAuthServer;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  app = await createAuthServiceApp();
  server = await startOAuthServer();
});
afterAll(async () => {
  for (const close of closing) await close();
  await app?.stop();
  await server?.stop();
});

type Files = Record<string, unknown>;

/** An MCP server that asks for authorization and publishes these files. */
async function startMcpServer(files: (origin: string) => Files): Promise<{ url: string; origin: string }> {
  const listener = await startHttpListener((origin) => (request, response) => {
    request.resume();
    const file = files(origin)[request.url ?? ""];
    if (request.method === "POST") {
      const hint = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      response.writeHead(401, { "www-authenticate": hint }).end();
    } else if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(file));
  });
  closing.push(listener.stop);
  return { url: `${listener.origin}/mcp`, origin: listener.origin };
}

let count = 0;
const discover = (mcp_server_url: string) => {
  count += 1;
  const body = { provider_id: `mcp-${count}`, name: "An MCP server", mcp_server_url };
  return app.call("POST", "/v2/auth/providers/mcp-discover", { body });
};
const metadataPath = "/.well-known/oauth-protected-resource/mcp";

describe("POST /v2/auth/providers/mcp-discover", () => {
  it("200: registers a public client that uses PKCE, and sends the resource it was given", async () => {
    const mcp = await startMcpServer((origin) => ({
      [metadataPath]: { resource: `${origin}/mcp`, authorization_servers: [server.issuer] },
    }));
    const { status, body } = await discover(mcp.url);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      is_dynamic_client: true,
      mcp_server_url: mcp.url,
      uses_pkce: true,
      code_challenge_method: "S256",
      token_endpoint_auth_method: "none",
      auth_url: server.authorizationEndpoint,
      token_url: server.tokenEndpoint,
      revocation_url: server.revocationEndpoint,
    });
    const consent = await app.call("POST", "/v2/auth/authenticate", {
      body: { provider: body.provider_id, scopes: [] },
    });
    const query = new URL(consent.body.url as string).searchParams;
    expect(query.get("resource")).toBe(mcp.url);
    expect(query.get("client_id")).toBe(body.client_id);
  });

  it("200: a server without such metadata is its own authorization server; the whole flow works", async () => {
    const { status, body } = await discover(`${server.issuer}/mcp`);
    expect(status).toBe(200);
    const provider = body.provider_id as string;
    const { tokenId } = await connect(app, { provider });
    const read = await app.call("POST", "/v2/auth/authenticate", { body: { provider, scopes: [] } });
    expect(read.body).toMatchObject({ status: "completed", token_id: tokenId });
    app.clock.advance(3_600_000);
    const refreshed = await app.call("POST", "/v2/auth/authenticate", { body: { provider, scopes: [] } });
    expect(refreshed.body.token).not.toBe(read.body.token);
    expect((await app.call("DELETE", `/v2/auth/tokens/${tokenId}`)).status).toBe(204);
  });

  it("409 for an id that is taken, before anything is registered", async () => {
    const body = { provider_id: "mcp-1", name: "Again", mcp_server_url: "http://127.0.0.1:1/mcp" };
    expect((await app.call("POST", "/v2/auth/providers/mcp-discover", { body })).status).toBe(409);
  });

  const broken: [string, string, (origin: string) => Files][] = [
    ["a resource that is no text", "a string", () => ({ [metadataPath]: { resource: { url: "x" } } })],
    [
      "another host's resource",
      "another resource",
      () => ({ [metadataPath]: { resource: "https://other.example/mcp" } }),
    ],
    [
      "an authorization server that is no URL",
      "not a URL",
      (origin) => ({ [metadataPath]: { resource: origin, authorization_servers: ["nowhere"] } }),
    ],
    [
      "no metadata of the authorization server",
      "RFC 8414",
      (origin) => ({ [metadataPath]: { resource: origin, authorization_servers: [origin] } }),
    ],
    [
      "no PKCE",
      "S256",
      (origin) => ({
        [metadataPath]: { resource: origin, authorization_servers: [origin] },
        "/.well-known/oauth-authorization-server": {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
        },
      }),
    ],
    [
      "no registration",
      "RFC 7591",
      (origin) => ({
        [metadataPath]: { resource: origin, authorization_servers: [origin] },
        "/.well-known/oauth-authorization-server": {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          code_challenge_methods_supported: ["S256"],
        },
      }),
    ],
  ];
  it.each(broken)("400 for %s, and says so", async (_name, words, files) => {
    const mcp = await startMcpServer(files);
    const answer = await discover(mcp.url);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toContain(words);
  });

  it("502 for metadata of another issuer and for a server that is not there", async () => {
    const mcp = await startMcpServer((origin) => ({
      [metadataPath]: { resource: origin, authorization_servers: [origin] },
      "/.well-known/oauth-authorization-server": { issuer: "https://other.example" },
    }));
    expect((await discover(mcp.url)).status).toBe(502);
    expect((await discover("http://127.0.0.1:1/mcp")).status).toBe(502);
  });
});
