import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type BrowserClient, createBrowserClient } from "../../../tests/support/browser-client.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { callApp, createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase?.drop());
beforeEach(async () => {
  app = await createWorkspacesApp({ testDatabase });
  return () => app.stop();
});

type Session = { id: string; current: boolean; workspace_id: string; method: string };
const current = "/v2/auth/sessions/current";

async function signedIn(key = app.apiKey): Promise<BrowserClient> {
  const browser = createBrowserClient(app.fetch);
  const answer = await browser.send("POST", "/v2/auth/sign-in/key", { body: { api_key: key } });
  expect(answer.status).toBe(201);
  return browser;
}

async function newKey(body: Record<string, unknown> = {}): Promise<{ id: string; key: string }> {
  const { status, body: made } = await app.call("POST", "/v2/api-keys", { body: { name: "one", ...body } });
  expect(status).toBe(201);
  return made as { id: string; key: string };
}

describe("a session", () => {
  it("is recognised by its cookie, in the workspace it was in last", async () => {
    const browser = await signedIn();
    expect(await browser.send("GET", current)).toMatchObject({
      status: 200,
      body: {
        user: { id: app.userId, email: "admin@localhost" },
        workspace_id: app.workspaceId,
        role: "admin",
        session: { method: "key", current: true, user_agent: "Test browser" },
      },
    });
    const made = await app.call("POST", "/v2/workspaces", { body: { name: "Second" } });
    const { id } = made.body as { id: string };
    // Without a choice the first one: a key for several workspaces would be refused.
    expect((await browser.send("GET", "/v2/workspaces")).status).toBe(200);
    const chosen = await browser.send("PATCH", current, {
      body: { workspace_id: id },
      headers: { "x-tenant-id": id },
    });
    expect(chosen.status).toBe(204);
    expect((await browser.send("GET", current)).body).toMatchObject({ workspace_id: id });
  });

  it("keeps the limits of the key it was started with, and ends with it", async () => {
    const { id, key } = await newKey({ role: "viewer" });
    const browser = await signedIn(key);
    expect((await browser.send("GET", current)).body).toMatchObject({ role: "viewer" });
    const refused = await browser.send("POST", "/v2/workspaces", { body: { name: "No" } });
    expect(refused.status).toBe(403);
    expect((await app.call("DELETE", `/v2/api-keys/${id}`)).status).toBe(204);
    expect(await browser.send("GET", current)).toMatchObject({
      status: 401,
      body: { detail: "Your session has ended. Sign in again." },
    });
  });

  it("ends when it was not used for long, and in any case after its time", async () => {
    const browser = await signedIn();
    app.clock.advance(11 * 3_600_000);
    expect((await browser.send("GET", current)).status).toBe(200);
    await expect
      .poll(async () => {
        const { rows } = await raw<{ used: Date }>`select last_seen_at as used from console_sessions`.execute(
          app.database.sql,
        );
        return rows[0]!.used.getTime();
      })
      .toBe(app.clock.now().getTime());
    app.clock.advance(11 * 3_600_000);
    expect((await browser.send("GET", current)).status).toBe(200);
    app.clock.advance(13 * 3_600_000);
    expect((await browser.send("GET", current)).status).toBe(401);

    const busy = await signedIn();
    for (let hours = 0; hours < 7 * 24; hours += 8) {
      expect((await busy.send("GET", current)).status, `after ${hours} h`).toBe(200);
      await app.workspaces.stop();
      app.clock.advance(8 * 3_600_000);
    }
    expect((await busy.send("GET", current)).status).toBe(401);
  });

  it("is gone after signing out, and its cookie with it", async () => {
    const browser = await signedIn();
    const kept = new Map(browser.cookies);
    expect((await browser.send("DELETE", current)).status).toBe(204);
    expect(browser.received).toEqual(["treadle_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"]);
    // A copy of the cookie no longer works.
    for (const [name, value] of kept) browser.cookies.set(name, value);
    expect((await browser.send("GET", current)).status).toBe(401);
  });

  it("that was ended in one process is unknown to another at once", async () => {
    const other = app.another();
    await other.workspaces.bootstrap({ rememberedKey: app.apiKey });
    const browser = await signedIn();
    const there = createBrowserClient(other.fetch);
    for (const [name, value] of browser.cookies) there.cookies.set(name, value);
    // Known there from now on, and remembered.
    expect((await there.send("GET", current)).status).toBe(200);
    expect((await browser.send("DELETE", current)).status).toBe(204);
    await expect.poll(async () => (await there.send("GET", current)).status).toBe(401);
  });

  it("is one of twenty at most: the oldest gives way", async () => {
    const first = await signedIn();
    for (let n = 0; n < 20; n++) await signedIn();
    expect((await first.send("GET", current)).status).toBe(401);
    const { body } = await app.call("GET", "/v2/auth/sessions");
    expect((body as { resources: Session[] }).resources).toHaveLength(20);
  });

  it("that has ended leaves the database after a while", async () => {
    await signedIn();
    app.clock.advance(20 * 24 * 3_600_000);
    await signedIn();
    const [prune] = app.workspaces.recurringJobs;
    await prune!.handler({} as never);
    const { rows } = await raw`select id from console_sessions`.execute(app.database.sql);
    expect(rows).toHaveLength(1);
  });
});

describe("looking after sessions", () => {
  it("lists one's own, ends one of them, and all others at once", async () => {
    const [here, there, third] = [await signedIn(), await signedIn(), await signedIn()];
    const list = async () =>
      ((await here!.send("GET", "/v2/auth/sessions")).body as { resources: Session[] }).resources;
    expect((await list()).map((session) => session.current).sort()).toEqual([false, false, true]);
    const { session } = (await there!.send("GET", current)).body as { session: Session };
    expect((await here!.send("DELETE", `/v2/auth/sessions/${session.id}`)).status).toBe(204);
    expect((await there!.send("GET", current)).status).toBe(401);
    expect((await here!.send("DELETE", `/v2/auth/sessions/${session.id}`)).status).toBe(404);
    expect((await here!.send("DELETE", "/v2/auth/sessions")).body).toEqual({ ended: 1 });
    expect((await third!.send("GET", current)).status).toBe(401);
    expect(await list()).toMatchObject([{ current: true }]);
  });

  it("an admin ends those of a member, others do not, and a removed member has none", async () => {
    const member = await app.call("POST", "/v2/members", {
      body: { email: "ada@example.com", role: "editor" },
    });
    const { user_id } = member.body as { user_id: string };
    const { key } = await newKey({ user_id });
    const [first, second] = [await signedIn(key), await signedIn(key)];
    const list = await app.call("GET", `/v2/auth/sessions?user_id=${user_id}`);
    const { resources } = list.body as { resources: Session[] };
    expect(resources).toHaveLength(2);
    const foreign = await first.send("GET", `/v2/auth/sessions?user_id=${app.userId}`);
    expect(foreign.status).toBe(403);
    const ended = await app.call("DELETE", `/v2/auth/sessions/${resources[0]!.id}?user_id=${user_id}`);
    expect(ended.status).toBe(204);
    const alive = [];
    for (const browser of [first, second]) alive.push((await browser.send("GET", current)).status);
    expect(alive.sort()).toEqual([200, 401]);
    // Without user_id only the caller's own sessions count.
    expect((await app.call("DELETE", `/v2/auth/sessions/${resources[1]!.id}`)).status).toBe(404);
    expect((await app.call("DELETE", `/v2/members/${user_id}`)).status).toBe(204);
    for (const browser of [first, second]) expect((await browser.send("GET", current)).status).toBe(401);
    expect((await app.call("GET", `/v2/auth/sessions?user_id=${user_id}`)).status).toBe(404);
  });

  it("404: a user who is no member here", async () => {
    expect((await app.call("GET", `/v2/auth/sessions?user_id=${crypto.randomUUID()}`)).status).toBe(404);
  });

  it("403: a key has no session to sign out of", async () => {
    expect((await app.call("DELETE", current)).status).toBe(403);
    const answer = await callApp(app.fetch, "GET", current, { key: app.apiKey, tenant: app.workspaceId });
    expect(answer.body).toMatchObject({ session: null });
  });

  it("a person in the console makes a key for every workspace, where the session's key opens every one", async () => {
    const browser = await signedIn();
    const body = { name: "all", workspace_id: null };
    expect((await browser.send("POST", "/v2/api-keys", { body })).status).toBe(201);
    const limited = await signedIn((await newKey()).key);
    expect((await limited.send("POST", "/v2/api-keys", { body })).status).toBe(403);
  });
});
