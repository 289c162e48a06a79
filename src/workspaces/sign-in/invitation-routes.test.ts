import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { createBrowserClient } from "../../../tests/support/browser-client.ts";

let app: TestApp;
let url: string;
beforeAll(async () => {
  app = await createTestApp();
  url = await app.listen();
});
afterAll(() => app?.stop());

const path = "/v2/auth/sign-in/code";
const current = "/v2/auth/sessions/current";
const newBrowser = () => createBrowserClient((request) => fetch(request), url);

describe("an invitation", () => {
  type Invitation = { url: string; expires_at: string };
  const member = async (role = "editor") => {
    const email = `${crypto.randomUUID()}@example.com`;
    return (await app.call<{ user_id: string }>("POST", "/v2/members", { body: { email, role } })).body
      .user_id;
  };
  const invite = (userId: string, headers: Record<string, string> = {}) =>
    app.call<Invitation & { detail: string }>("POST", `/v2/members/${userId}/invitation`, { headers });
  const codeOf = ({ url: link }: Invitation) => new URL(link).hash.replace("#code=", "");

  it("signs a new member in once, with their own role, and a newer one ends it", async () => {
    const userId = await member();
    const first = await invite(userId);
    expect(first).toMatchObject({ status: 201, body: { url: expect.stringContaining("/sign-in#code=") } });
    const second = await invite(userId);
    const browser = newBrowser();
    expect((await browser.send("POST", path, { body: { code: codeOf(first.body) } })).status).toBe(401);
    expect((await browser.send("POST", path, { body: { code: codeOf(second.body) } })).status).toBe(201);
    expect((await browser.send("GET", current)).body).toMatchObject({ user: { id: userId } });
    expect((await newBrowser().send("POST", path, { body: { code: codeOf(second.body) } })).status).toBe(401);
  });

  it("409: is not made for who has signed in before, or is in another workspace too", async () => {
    const userId = await member();
    const { body } = await invite(userId);
    expect((await newBrowser().send("POST", path, { body: { code: codeOf(body) } })).status).toBe(201);
    expect(await invite(userId)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("login-link") },
    });
  });

  it("ends when the member gets into another workspace meanwhile: its maker knows it", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const made = await app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email, role: "editor" },
    });
    const { body } = await invite(made.body.user_id);
    const other = await app.call<{ id: string }>("POST", "/v2/workspaces", { body: { name: "Elsewhere" } });
    const elsewhere = { "x-tenant-id": other.body.id };
    await app.call("POST", "/v2/members", { body: { email, role: "admin" }, headers: elsewhere });
    expect((await newBrowser().send("POST", path, { body: { code: codeOf(body) } })).status).toBe(401);
    expect((await invite(made.body.user_id, { "x-tenant-id": app.workspaceId })).status).toBe(409);
    await app.call("DELETE", `/v2/workspaces/${other.body.id}`, { headers: elsewhere });
  });
});
