import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type AuthServiceApp,
  createAuthServiceApp,
  type Person,
} from "../../../tests/support/auth-service-app.ts";
import { buildOpenApi } from "../../platform/http/openapi/openapi.ts";

let app: AuthServiceApp;
let other: Person;
/** Without a revocation endpoint: its metadata does not exist. */
const provider = {
  provider_id: "local",
  name: "Local",
  client_id: "id",
  auth_url: "http://127.0.0.1:1/authorize",
  token_url: "http://127.0.0.1:1/token",
};

beforeAll(async () => {
  app = await createAuthServiceApp();
  other = await app.addPerson("other@example.com");
  for (const id of ["local", "second"]) {
    const created = await app.call("POST", "/v2/auth/providers", { body: { ...provider, provider_id: id } });
    expect(created.status).toBe(200);
  }
});
afterAll(() => app?.stop());

const importToken = async (more: Record<string, unknown> = {}, person: Person = app.admin) => {
  const answer = await app.call<{ token_id: string }>("POST", "/v2/auth/tokens/import", {
    key: person.key,
    body: { provider_id: "local", access_token: `value-${crypto.randomUUID()}`, scopes: ["a"], ...more },
  });
  expect(answer.status).toBe(200);
  expect(Object.keys(answer.body)).toEqual(["token_id"]);
  return answer.body.token_id;
};
const read = (more: Record<string, unknown> = {}) =>
  app.call("POST", "/v2/auth/authenticate", { body: { provider: "local", scopes: [], ...more } });
const list = (person: Person = app.admin, query = "") =>
  app.call<Record<string, unknown>[]>("GET", `/v2/auth/tokens${query}`, { key: person.key });

describe("DELETE /v2/auth/tokens/{token_id}", () => {
  it("204 without a body; no endpoint at the provider is recorded in an event", async () => {
    const id = await importToken();
    const answer = await app.call("DELETE", `/v2/auth/tokens/${id}`);
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    const [event] = (await app.call<unknown[]>("GET", "/v2/auth/token-events?limit=1")).body;
    expect(event).toMatchObject({
      event_type: "deleted_locally",
      reason: "no_revocation_endpoint",
      token_id: id,
      provider_id: "local",
    });
  });

  it("403 for somebody else of the workspace, also an admin; the token stays", async () => {
    const id = await importToken({}, other);
    expect((await app.call("DELETE", `/v2/auth/tokens/${id}`)).status).toBe(403);
    expect((await app.call("DELETE", `/v2/auth/tokens/${id}?force=true`)).status).toBe(403);
    expect((await list(other)).body.map((token) => token.id)).toContain(id);
    expect((await app.call("DELETE", `/v2/auth/tokens/${id}`, { key: other.key })).status).toBe(204);
  });

  it("404 for one that is not there, whatever the version of the uuid", async () => {
    for (const id of [crypto.randomUUID(), "00000000-0000-0000-0000-000000000001"]) {
      const answer = await app.call("DELETE", `/v2/auth/tokens/${id}`);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({ detail: expect.any(String) });
    }
  });

  it("422 with the validation body for an id that is no uuid", async () => {
    const { status, body } = await app.call<{ detail: unknown[] }>("DELETE", "/v2/auth/tokens/not-a-uuid");
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      expect.objectContaining({
        loc: ["path", "token_id"],
        msg: expect.any(String),
        type: expect.any(String),
      }),
    ]);
  });

  it("401 without a credential", async () => {
    const request = new Request(`http://127.0.0.1/v2/auth/tokens/${crypto.randomUUID()}`, {
      method: "DELETE",
    });
    expect((await app.fetch(request)).status).toBe(401);
  });

  it("lists three security entries in the OpenAPI document, and 204 and 422", () => {
    const document = buildOpenApi({ title: "", version: "", description: "", routes: app.service.routes });
    const paths = document.paths as Record<string, Record<string, Record<string, unknown>>>;
    const operation = paths["/v2/auth/tokens/{token_id}"]!.delete!;
    expect(operation.security).toEqual([{ "API Key": [] }, { "Tenant ID": [] }, { "Bearer Auth": [] }]);
    expect(operation.responses).toMatchObject({
      204: {},
      422: {
        content: { "application/json": { schema: { $ref: "#/components/schemas/HTTPValidationError" } } },
      },
    });
  });

  it("many at once delete it once", async () => {
    const id = await importToken();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => app.call("DELETE", `/v2/auth/tokens/${id}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
  });
});

describe("several accounts", () => {
  it("one is the default; another can be named, made the default and labelled", async () => {
    await app.call("DELETE", "/v2/auth/tokens?provider_id=local");
    const first = await importToken({ access_token: "first" });
    const second = await importToken({ access_token: "second" });
    const third = await importToken({ access_token: "third", is_default: false });
    expect((await read()).body).toMatchObject({ token: "second", token_id: second });
    expect((await read({ token_id: first })).body.token).toBe("first");
    const changed = await app.call("PATCH", `/v2/auth/tokens/${third}/metadata`, {
      body: { is_default: true, provider_account_label: "Work" },
    });
    expect(changed).toMatchObject({
      status: 200,
      body: { is_default: true, provider_account_label: "Work" },
    });
    expect((await read()).body.token).toBe("third");
    const tokens = (await list(app.admin, "?provider_id=local")).body;
    expect(tokens.filter((token) => token.is_default).map((token) => token.id)).toEqual([third]);
    expect((await app.call("DELETE", `/v2/auth/tokens/${third}`)).status).toBe(204);
    expect((await read()).body.token).toBe("second");
    const foreign = await app.call("PATCH", `/v2/auth/tokens/${first}/metadata`, {
      key: other.key,
      body: {},
    });
    expect(foreign.status).toBe(403);
  });

  it("lists are one's own and hold no secret", async () => {
    await importToken({ access_token: "very-secret-value", refresh_token: "very-secret-refresh" });
    expect(JSON.stringify((await list()).body)).not.toContain("very-secret");
    expect((await list(other)).body).toEqual([]);
    const rows = await app.database.query({ name: "all_tokens_v1", text: "select * from auth_tokens" }, []);
    expect(JSON.stringify(rows)).not.toContain("very-secret");
  });

  it("exists, one and many; deleting all of a provider", async () => {
    await importToken({ provider_id: "second" });
    const one = await app.call("GET", "/v2/auth/tokens/exists?provider_id=second");
    expect(one.body).toEqual({ has_token: true });
    const batch = await app.call("POST", "/v2/auth/tokens/exists/batch", {
      body: { provider_ids: ["second", "none"] },
    });
    expect(batch.body).toEqual({ has_token: { second: true, none: false } });
    const deleted = await app.call("DELETE", "/v2/auth/tokens?provider_id=second");
    expect(deleted).toMatchObject({
      status: 200,
      body: { provider_id: "second", message: "1 token was deleted." },
    });
    expect((await app.call("GET", "/v2/auth/tokens/exists?provider_id=second")).body).toEqual({
      has_token: false,
    });
    expect((await app.call("DELETE", "/v2/auth/tokens")).status).toBe(422);
  });

  it("an imported token that has ended and cannot be refreshed asks for consent", async () => {
    await app.call("DELETE", "/v2/auth/tokens?provider_id=local");
    await importToken({ expires_in_seconds: 60 });
    expect((await read()).body.status).toBe("completed");
    app.clock.advance(61_000);
    expect((await read({ check_only: true })).body).toEqual({ status: "token_expired" });
    expect((await read({ use_agent_builder_public_oauth: true })).status).toBe(422);
    expect((await read({ use_agent_builder_public_oauth: false, check_only: true })).status).toBe(200);
    expect((await read()).body).toMatchObject({ status: "pending", url: expect.any(String) });
  });

  it("404 for a provider that does not exist, 422 for a token that is no text", async () => {
    const body = { provider_id: "none", access_token: "x" };
    expect((await app.call("POST", "/v2/auth/tokens/import", { body })).status).toBe(404);
    const bad = { provider_id: "local", access_token: 7 };
    expect((await app.call("POST", "/v2/auth/tokens/import", { body: bad })).status).toBe(422);
  });
});

describe("agents", () => {
  it("use a token somebody linked to them, without owning it, until it is unlinked", async () => {
    const id = await importToken({ access_token: "lent" }, other);
    const link = { oauth_token_id: id };
    const path = "/v2/auth/agents/helper/connections";
    expect((await app.call("POST", path, { body: link })).status).toBe(403);
    const made = await app.call("POST", path, { key: other.key, body: link });
    expect(made).toMatchObject({
      status: 201,
      body: { agent_id: "helper", oauth_token_id: id, provider_id: "local" },
    });
    const again = await app.call("POST", path, { key: other.key, body: link });
    expect(again.body.id).toBe(made.body.id);
    const asked = { agent_id: "helper", token_id: id };
    expect((await read(asked)).body).toMatchObject({ status: "completed", token: "lent" });
    expect((await read({ token_id: id })).status).toBe(403);
    expect((await read({ agent_id: "stranger", token_id: id })).body).toEqual({
      status: "connection_required",
    });
    expect((await app.call("DELETE", `${path}/${made.body.id}`)).status).toBe(204);
    expect((await read(asked)).body).toEqual({ status: "connection_required" });
    expect((await app.call("DELETE", `${path}/${made.body.id}`)).status).toBe(404);
  });

  it("get a token of their own; the next one replaces it", async () => {
    const give = (access_token: string) =>
      app.call("POST", "/v2/auth/agents/robot/providers/local/tokens", { body: { access_token } });
    const first = await give("robot-1");
    expect(first.status).toBe(200);
    const second = await give("robot-2");
    expect((await read({ agent_id: "robot" })).body).toMatchObject({ token: "robot-2" });
    const { data } = (await app.call<{ data: unknown[] }>("GET", "/v2/auth/agents/robot/connections")).body;
    expect(data).toMatchObject([{ oauth_token_id: second.body.token_id }]);
    const ids = (await list()).body.map((token) => token.id);
    expect(ids).toContain(second.body.token_id);
    expect(ids).not.toContain(first.body.token_id);
  });
});

describe("Slack of the workspace", () => {
  it("is seen by all, and deleted by admins only", async () => {
    const slack = { ...provider, provider_id: "chat", provider_type: "slack" };
    expect((await app.call("POST", "/v2/auth/providers", { body: slack })).status).toBe(200);
    await importToken({ provider_id: "chat" }, other);
    const path = "/v2/auth/tokens/workspace/slack";
    expect((await app.call("GET", `${path}/exists`)).body).toEqual({ has_token: true });
    expect((await app.call("DELETE", path, { key: other.key })).status).toBe(403);
    expect((await app.call("DELETE", path)).status).toBe(200);
    expect((await app.call("GET", `${path}/exists`)).body).toEqual({ has_token: false });
  });
});
