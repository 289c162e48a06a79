import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp } from "../../../tests/support/auth-service-app.ts";
import { type HttpListener, startHttpListener } from "../../../tests/support/components/http-listener.ts";

type Seen = {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  body: string;
};
type Reply = { status: number; body?: string };

let app: AuthServiceApp;
let vendor: HttpListener;
let seen: Seen[] = [];
let reply: (request: IncomingMessage, body: string) => Reply;
let count = 0;

beforeAll(async () => {
  app = await createAuthServiceApp();
  vendor = await startHttpListener(() => (request, response) => {
    text(request).then((body) => {
      seen.push({
        method: request.method,
        url: request.url,
        authorization: request.headers.authorization,
        body,
      });
      const answer = reply(request, body);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body ?? "");
    }, response.destroy);
  });
});
beforeEach(() => {
  seen = [];
});
afterAll(async () => {
  await app?.stop();
  await vendor?.stop();
});

/** A token of a provider made from a template, whose addresses are this file's own server. */
async function importFrom(template: string | null, refreshToken: string | null = null): Promise<string> {
  count += 1;
  const provider_id = `p${count}`;
  const created = await app.call("POST", "/v2/auth/providers", {
    body: {
      provider_id,
      name: "Vendor",
      template,
      client_id: "the client",
      client_secret: "s3cret",
      auth_url: `${vendor.origin}/authorize`,
      token_url: `${vendor.origin}/token`,
      revocation_url: `${vendor.origin}/revoke/{client_id}`,
    },
  });
  expect(created.status).toBe(200);
  const imported = await app.call("POST", "/v2/auth/tokens/import", {
    body: { provider_id, access_token: "the-access-token", refresh_token: refreshToken },
  });
  return imported.body.token_id as string;
}
const remove = (id: string) => app.call("DELETE", `/v2/auth/tokens/${id}`);
const basic = `Basic ${Buffer.from("the client:s3cret").toString("base64")}`;

describe("each way of revoking", () => {
  it("RFC 7009: the refresh token first, then the access token", async () => {
    reply = () => ({ status: 200 });
    expect((await remove(await importFrom(null, "the-refresh-token"))).status).toBe(204);
    const forms = seen.map(({ body }) => new URLSearchParams(body));
    expect(forms.map((form) => [form.get("token"), form.get("token_type_hint")])).toEqual([
      ["the-refresh-token", "refresh_token"],
      ["the-access-token", "access_token"],
    ]);
    expect(forms.every((form) => form.get("client_secret") === "s3cret")).toBe(true);
  });

  it("GitHub: the grant is deleted, with the client's credentials", async () => {
    reply = () => ({ status: 204 });
    expect((await remove(await importFrom("github"))).status).toBe(204);
    expect(seen).toEqual([
      {
        method: "DELETE",
        url: "/revoke/the%20client",
        authorization: basic,
        body: '{"access_token":"the-access-token"}',
      },
    ]);
  });

  it("Slack and Dropbox: the token authorises its own end", async () => {
    reply = () => ({ status: 200, body: '{"ok":true}' });
    for (const template of ["slack", "dropbox"]) {
      expect((await remove(await importFrom(template))).status).toBe(204);
      expect(seen.at(-1)).toMatchObject({ method: "POST", authorization: "Bearer the-access-token" });
    }
  });

  it("Notion: the token in JSON, with the client's credentials", async () => {
    reply = () => ({ status: 200, body: "{}" });
    expect((await remove(await importFrom("notion"))).status).toBe(204);
    expect(seen).toMatchObject([
      { method: "POST", authorization: basic, body: '{"token":"the-access-token"}' },
    ]);
  });
});

describe("what counts as revoked (204)", () => {
  it.each<[string, string | null, Reply]>([
    ["RFC 7009 invalid_token", null, { status: 400, body: '{"error":"invalid_token"}' }],
    ["Slack token_revoked", "slack", { status: 200, body: '{"ok":false,"error":"token_revoked"}' }],
    ["GitHub without such a grant", "github", { status: 404, body: "{}" }],
    ["a bearer that is refused", "dropbox", { status: 401, body: "{}" }],
  ])("%s", async (_name, template, answer) => {
    reply = () => answer;
    expect((await remove(await importFrom(template))).status).toBe(204);
  });

  it("a refresh token, where access tokens cannot be revoked", async () => {
    reply = (_request, body) =>
      body.includes("hint=access_token")
        ? { status: 400, body: '{"error":"unsupported_token_type"}' }
        : { status: 200 };
    expect((await remove(await importFrom(null, "the-refresh-token"))).status).toBe(204);
  });
});

describe("what does not (502, and the token stays)", () => {
  it.each<[string, string | null, Reply]>([
    ["a wrong client", null, { status: 401, body: '{"error":"invalid_client"}' }],
    ["a failure", null, { status: 500, body: "<html>the-access-token</html>" }],
    ["overload", null, { status: 503 }],
    ["a type it does not revoke", null, { status: 400, body: '{"error":"unsupported_token_type"}' }],
    [
      "a description that repeats the token",
      null,
      { status: 400, body: '{"error":"server_error","error_description":"the-access-token"}' },
    ],
    ["a redirect", null, { status: 302 }],
    ["Slack's refusal", "slack", { status: 200, body: '{"ok":false,"error":"not_allowed"}' }],
    ["GitHub's refusal", "github", { status: 403, body: "{}" }],
  ])("%s", async (_name, template, answer) => {
    reply = () => answer;
    const id = await importFrom(template);
    const refused = await remove(id);
    expect(refused.status).toBe(502);
    expect(refused.body).toEqual({ detail: expect.any(String) });
    expect(JSON.stringify(refused.body)).not.toContain("the-access-token");
    reply = () => ({ status: 204 });
    expect((await remove(id)).status).toBe(204);
  });
});

it("deleting a provider revokes its tokens in the background and then forgets it", async () => {
  reply = () => ({ status: 200 });
  const id = await importFrom(null);
  const { body } = await app.call<{ id: string; provider_id: string }[]>("GET", "/v2/auth/tokens");
  const { provider_id } = body.find((token) => token.id === id)!;
  expect((await app.call("DELETE", `/v2/auth/providers/${provider_id}`)).status).toBe(200);
  const [job] = await app.database.query<{ payload: unknown }>(
    { name: "removal_job_v1", text: "select payload from jobs where kind = 'auth.remove_provider'" },
    [],
  );
  const handler = app.service.jobHandlers["auth.remove_provider"]!;
  await handler({ job, signal: new AbortController().signal } as unknown as Parameters<typeof handler>[0]);
  expect(seen.map(({ url }) => url)).toContain("/revoke/%7Bclient_id%7D");
  const left = await app.database.query(
    { name: "left_v1", text: "select id from auth_tokens where id = $1" },
    [id],
  );
  expect(left).toEqual([]);
});
