import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { providerTemplates } from "./provider-templates.ts";

const specFields = [
  "id",
  "organization_id",
  "provider_id",
  "name",
  "client_id",
  "auth_url",
  "token_url",
  "uses_pkce",
  "code_challenge_method",
  "created_at",
  "updated_at",
  "provider_type",
  "mcp_server_url",
  "token_endpoint_auth_method",
  "authorization_params",
  "is_dynamic_client",
  "allowed_redirect_uris",
];
const secret = "the-client-secret-of-this-file";
let folder: TempFolder;
let file: string;
let app: AuthServiceApp;

const manual = (provider_id: string, more: Record<string, unknown> = {}) => ({
  provider_id,
  name: "Manual",
  client_id: "id",
  client_secret: secret,
  auth_url: "https://provider.invalid/authorize",
  token_url: "https://provider.invalid/token",
  ...more,
});
const post = (body: unknown) => app.call("POST", "/v2/auth/providers", { body });

beforeAll(async () => {
  folder = await createTempFolder("providers");
  file = join(folder.path, "providers.json");
  const platform = [
    { provider_id: "github", template: "github", client_id: "platform-id", client_secret: secret },
    manual("plain-platform", { allowed_redirect_uris: ["https://app.example/callback"] }),
  ];
  await writeFile(file, JSON.stringify(platform));
  app = await createAuthServiceApp({ oauthProvidersFile: file });
});
afterAll(async () => {
  await app?.stop();
  await folder?.remove();
});

describe("GET /v2/auth/platform-providers", () => {
  it("200: a bare array with every field, null where unset, and no secret", async () => {
    const { status, body, headers } = await app.call<Record<string, unknown>[]>(
      "GET",
      "/v2/auth/platform-providers",
    );
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("application/json");
    expect(body.map((provider) => provider.provider_id)).toEqual(["github", "plain-platform"]);
    for (const provider of body) {
      for (const field of specFields) expect(provider, field).toHaveProperty(field);
      expect(provider.organization_id).toBe(app.organizationId);
      expect(JSON.stringify(provider)).not.toContain(secret);
    }
    expect(body[1]).toMatchObject({
      provider_type: null,
      mcp_server_url: null,
      authorization_params: null,
      is_dynamic_client: false,
      token_endpoint_auth_method: "client_secret_post",
    });
  });

  it("200 in every workspace and for viewers; 404 for an unknown one", async () => {
    const viewer = await app.addPerson("viewer@example.com", "viewer");
    const second = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const tenant = second.body.id as string;
    expect((await app.call("GET", "/v2/auth/platform-providers", { tenant })).body).toHaveLength(2);
    const one = await app.call("GET", "/v2/auth/platform-providers/github", { key: viewer.key });
    expect(one.body).toMatchObject({ provider_id: "github", client_id: "platform-id" });
    expect((await app.call("GET", "/v2/auth/platform-providers/none")).status).toBe(404);
    const asked = { provider: "github", scopes: ["repo"] };
    const consent = await app.call("POST", "/v2/auth/authenticate", { tenant, body: asked });
    expect(consent.body.status).toBe("pending");
  });

  it("follows the file: what left it is not offered, what comes back is the same provider", async () => {
    const list = async () =>
      (
        await app.call<{ id: string; provider_id: string; name: string }[]>(
          "GET",
          "/v2/auth/platform-providers",
        )
      ).body;
    const before = (await list()).find(({ provider_id }) => provider_id === "github")!;
    await writeFile(file, JSON.stringify([manual("plain-platform", { name: "Renamed" })]));
    await (await app.another()).close();
    expect(await list()).toMatchObject([{ provider_id: "plain-platform", name: "Renamed" }]);
    const github = { provider_id: "github", template: "github", client_id: "platform-id" };
    await writeFile(file, JSON.stringify([github, manual("plain-platform")]));
    await (await app.another()).close();
    expect((await list()).find(({ provider_id }) => provider_id === "github")?.id).toBe(before.id);
  });

  it("a file that cannot be used is named, without its content", async () => {
    for (const text of [
      `[{"client_secret": "${secret}"`,
      `[{"provider_id":"x","client_secret":"${secret}"}]`,
      "{}",
    ]) {
      await writeFile(file, text);
      const error = await app.another().catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: "config.invalid" });
      expect((error as Error).message).not.toContain(secret);
    }
  });
});

describe("POST /v2/auth/providers", () => {
  it("200: keeps the secret to itself, also in GET, list, PATCH and the database", async () => {
    const created = await post(manual("kept"));
    expect(created.status).toBe(200);
    expect(created.body).toMatchObject({
      provider_id: "kept",
      uses_pkce: false,
      code_challenge_method: "S256",
      default_redirect_uri: `${app.url}/host-oauth-callback/kept`,
    });
    const patched = await app.call("PATCH", "/v2/auth/providers/kept", {
      body: { name: "New", client_secret: null },
    });
    expect(patched).toMatchObject({ status: 200, body: { name: "New", client_id: "id" } });
    const got = await app.call("GET", "/v2/auth/providers/kept");
    const listed = await app.call<unknown[]>("GET", "/v2/auth/providers");
    expect(listed.body).toContainEqual(got.body);
    const rows = await app.database.query(
      { name: "all_providers_v1", text: "select * from auth_providers" },
      [],
    );
    expect(JSON.stringify([created.body, patched.body, listed.body, rows])).not.toContain(secret);
  });

  it("200: a template needs an id and a secret only", async () => {
    for (const template of providerTemplates) {
      const body = {
        provider_id: `t-${template.id}`,
        template: template.id,
        client_id: "id",
        client_secret: secret,
      };
      const created = await post(body);
      expect(created, template.id).toMatchObject({
        status: 200,
        body: { name: template.name, token_url: template.token_url, provider_type: template.provider_type },
      });
      expect(created.body.revocation_url).toBe(template.revocation?.url ?? null);
    }
    const { body } = await app.call<{ id: string }[]>("GET", "/v2/auth/provider-templates");
    const ids = body.map(({ id }) => id);
    const expected = ["github", "google", "slack", "microsoft", "notion", "linear", "salesforce", "x"];
    expect(ids).toEqual(expect.arrayContaining(expected));
  });

  it("adds what a provider needs for a refresh token", async () => {
    const authenticate = async (provider: string) => {
      const body = { provider, scopes: ["Mail.Read"] };
      const answer = await app.call("POST", "/v2/auth/authenticate", { body });
      return new URL(answer.body.url as string).searchParams;
    };
    expect((await authenticate("t-microsoft")).get("scope")).toBe("Mail.Read offline_access");
    expect((await authenticate("t-google")).get("access_type")).toBe("offline");
    expect((await authenticate("t-linear")).get("code_challenge_method")).toBe("S256");
  });

  it("409 for an id that is taken; it is free again after DELETE (200)", async () => {
    expect((await post(manual("twice"))).status).toBe(200);
    expect((await post(manual("twice"))).status).toBe(409);
    const deleted = await app.call("DELETE", "/v2/auth/providers/twice");
    expect(deleted).toMatchObject({ status: 200, body: { message: expect.any(String) } });
    expect((await app.call("GET", "/v2/auth/providers/twice")).status).toBe(404);
    expect((await post(manual("twice"))).status).toBe(200);
  });

  it.each([
    ["without an address", { token_url: undefined }],
    ["an address that is none", { token_url: "ftp://provider.invalid/token" }],
    ["credentials in an address", { token_url: "https://user:pass@provider.invalid/token" }],
    ["a scripted address", { auth_url: "javascript:alert(1)" }],
    ["a redirect that is no web page", { allowed_redirect_uris: ["javascript:alert(1)"] }],
    ["a parameter of the protocol", { authorization_params: { redirect_uri: "https://evil.example" } }],
    ["an unknown method", { token_endpoint_auth_method: "tls" }],
    ["plain PKCE", { code_challenge_method: "plain" }],
    ["an id for other paths", { provider_id: "../x" }],
    ["an unknown template", { template: "nope" }],
  ])("422 %s", async (_name, more) => {
    const answer = await post(manual("bad", more));
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      expect.objectContaining({ loc: expect.any(Array), msg: expect.any(String) }),
    ]);
  });

  it("404 for what is not there, 403 for viewers", async () => {
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const options = method === "PATCH" ? { body: {} } : {};
      expect((await app.call(method, "/v2/auth/providers/none", options)).status).toBe(404);
    }
    const viewer = await app.addPerson("reader@example.com", "viewer");
    expect(
      (await app.call("POST", "/v2/auth/providers", { key: viewer.key, body: manual("v") })).status,
    ).toBe(403);
  });
});

describe("PATCH /v2/auth/providers/{provider_id}", () => {
  const patch = (body: unknown) => app.call("PATCH", "/v2/auth/providers/moved", { body });
  const elsewhere = "https://elsewhere.invalid/token";

  it("422: an address on another server does not take the stored secret along", async () => {
    expect((await post(manual("moved"))).status).toBe(200);
    expect((await patch({ token_url: elsewhere })).status).toBe(422);
    expect((await patch({ revocation_url: elsewhere })).status).toBe(422);
    expect((await patch({ token_url: "https://provider.invalid/other" })).status).toBe(200);
    expect((await patch({ token_url: elsewhere, client_secret: "another" })).status).toBe(200);
  });

  it("409: nor tokens of other people", async () => {
    const body = { provider_id: "moved", access_token: "x" };
    expect((await app.call("POST", "/v2/auth/tokens/import", { body })).status).toBe(200);
    const moved = { token_url: "https://third.invalid/token", client_secret: "another" };
    expect((await patch(moved)).status).toBe(409);
    expect((await patch({ name: "Still fine" })).status).toBe(200);
  });

  it("200: null clears a field, or puts it back to its default", async () => {
    const more = {
      revocation_url: "https://provider.invalid/revoke",
      uses_pkce: true,
      token_endpoint_auth_method: "client_secret_basic",
      authorization_params: { access_type: "offline" },
      allowed_redirect_uris: ["https://app.invalid/done"],
    };
    expect((await post(manual("cleared", more))).body).toMatchObject(more);
    const cleared = {
      revocation_url: null,
      uses_pkce: null,
      token_endpoint_auth_method: null,
      authorization_params: null,
      allowed_redirect_uris: null,
      client_secret: null,
    };
    const answer = await app.call("PATCH", "/v2/auth/providers/cleared", { body: cleared });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      revocation_url: null,
      uses_pkce: false,
      token_endpoint_auth_method: "client_secret_post",
      authorization_params: null,
      allowed_redirect_uris: [],
    });
    const [row] = await app.database.query<{ client_secret_sealed: string | null }>(
      {
        name: "test_cleared_secret",
        text: "select client_secret_sealed from auth_providers where provider_id = 'cleared'",
      },
      [],
    );
    expect(row).toEqual({ client_secret_sealed: null });
  });

  it("422: what a provider cannot be without is not cleared", async () => {
    expect((await post(manual("needed"))).status).toBe(200);
    for (const field of ["name", "client_id", "auth_url", "token_url"]) {
      const answer = await app.call("PATCH", "/v2/auth/providers/needed", { body: { [field]: null } });
      expect(answer.status).toBe(422);
    }
  });
});

describe("private addresses, where the operator does not allow them", () => {
  let strict: AuthServiceApp;
  beforeAll(async () => {
    strict = await createAuthServiceApp({ allowPrivateAddresses: false });
  });
  afterAll(() => strict?.stop());

  it.each([
    "https://127.0.0.1/token",
    "https://localhost/token",
    "https://10.0.0.8/token",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/token",
    "https://2130706433/token",
  ])("%s is refused (400) as token, revocation, MCP and webhook address", async (url) => {
    const call = (method: string, path: string, body: unknown) => strict.call(method, path, { body });
    const answers = [
      await call("POST", "/v2/auth/providers", manual("a", { token_url: url })),
      await call("POST", "/v2/auth/providers", manual("b", { revocation_url: url })),
      await call("POST", "/v2/auth/providers", manual("c", { issuer: url })),
      await call("POST", "/v2/auth/providers/mcp-discover", {
        provider_id: "d",
        name: "D",
        mcp_server_url: url,
      }),
      await call("PUT", "/v2/auth/webhook", { url }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
  });

  it("plain http is refused (422)", async () => {
    const answer = await strict.call("POST", "/v2/auth/providers", {
      body: manual("http", { token_url: "http://provider.invalid/token" }),
    });
    expect(answer.status).toBe(422);
  });
});
