import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";
import { createBrowserClient } from "../../../tests/support/browser-client.ts";
import { createTestClock, type TestClock } from "../../../tests/support/workspaces-app.ts";
import { returnPath } from "./return-path.ts";

let app: TestApp;
let url: string;
let signInLink: () => Promise<string>;
let clock: TestClock;
beforeAll(async () => {
  clock = createTestClock();
  app = await createTestApp({ failedCredentialsPerMinute: 5 }, { clock });
  ({ url, signInLink } = await app.app.start());
});
afterAll(() => app?.stop());

const path = "/v2/auth/sign-in/code";
const current = "/v2/auth/sessions/current";
/** Over the wire, where there are addresses to count by. */
const newBrowser = () => createBrowserClient((request) => fetch(request), url);

async function newCode(): Promise<string> {
  const link = new URL(await signInLink());
  expect(link.pathname).toBe("/sign-in");
  return link.hash.replace("#code=", "");
}

describe("who makes a one-time link", () => {
  // A session by link uses its person's accounts. So only the operator makes links: at the start and by the command
  // line. An invitation is for who has no accounts yet: `invitation-routes.test.ts`.
  it("is the operator on the machine: no route is given what makes one", async () => {
    const makers: string[] = [];
    for (const file of await readdir("src", { recursive: true })) {
      if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
      const text = await readFile(join("src", file), "utf8");
      if (/\bnew SignInCodes\(\{|\bmakeSignInLink\b|\bmakeLink\b|\binsertCode\(/.test(text))
        makers.push(file);
    }
    expect(makers.sort()).toEqual([
      "app/compose.ts",
      "app/platform.ts",
      "cli/commands/login-link/login-link.ts",
      "cli/commands/open/open.ts",
      "cli/server/sign-in-link.ts",
      "workspaces/sign-in/sign-in-code-service.ts",
      "workspaces/sign-in/sign-in-code-store.ts",
      "workspaces/sign-in/sign-in.ts",
      "workspaces/workspaces.ts",
    ]);
    const paths = app.app.routes.map(({ spec }) => `${spec.method} ${spec.path}`);
    expect(paths.filter((each) => each.includes("/v2/auth/sign-in")).sort()).toEqual([
      "get /v2/auth/sign-in",
      "post /v2/auth/sign-in/code",
      "post /v2/auth/sign-in/key",
    ]);
  });
});

describe("a key", () => {
  it("403: one of a service does not sign in, and starts no session", async () => {
    const { body } = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "CI", service: true, scopes: ["read", "deploy"] },
    });
    const browser = newBrowser();
    const answer = await browser.send("POST", "/v2/auth/sign-in/key", { body: { api_key: body.key } });
    expect([answer.status, answer.headers.get("x-error-code")]).toEqual([403, "sign_in.service_key"]);
    expect([...browser.cookies]).toEqual([]);
  });
});

describe("a one-time link", () => {
  it("201: signs the administrator in, once", async () => {
    const code = await newCode();
    const browser = newBrowser();
    expect((await browser.send("POST", path, { body: { code } })).status).toBe(201);
    expect((await browser.send("GET", current)).body).toMatchObject({
      user: { email: "admin@localhost" },
      role: "admin",
      session: { method: "link", api_key_id: null, address: "127.0.0.1" },
    });
    const again = await newBrowser().send("POST", path, { body: { code } });
    expect(again).toMatchObject({ status: 401, body: { detail: expect.stringContaining("already used") } });
  });

  it("signs in one of two who open it at once", async () => {
    const code = await newCode();
    const answers = await Promise.all(
      [1, 2, 3].map(() => newBrowser().send("POST", path, { body: { code } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401]);
  });

  it("401: after a quarter of an hour", async () => {
    const code = await newCode();
    clock.advance(15 * 60_000);
    expect((await newBrowser().send("POST", path, { body: { code } })).status).toBe(401);
  });

  it("409: never replaces somebody else's session in silence, and is not used up by that", async () => {
    const member = await app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email: "ada@example.com", role: "editor" },
    });
    const { body } = await app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "ada's", user_id: member.body.user_id },
    });
    const browser = newBrowser();
    await browser.send("POST", "/v2/auth/sign-in/key", { body: { api_key: body.key } });
    const before = new Map(browser.cookies);
    const code = await newCode();
    expect(await browser.send("POST", path, { body: { code } })).toMatchObject({
      status: 409,
      body: { detail: "You are signed in as ada@example.com. This link signs in admin@localhost." },
    });
    expect(browser.cookies).toEqual(before);
    expect((await browser.send("GET", current)).body).toMatchObject({ user: { email: "ada@example.com" } });
    expect((await browser.send("POST", path, { body: { code, replace: true } })).status).toBe(201);
    expect((await browser.send("GET", current)).body).toMatchObject({ user: { email: "admin@localhost" } });
    // The session before is over, not only out of sight.
    const old = newBrowser();
    for (const [name, value] of before) old.cookies.set(name, value);
    expect((await old.send("GET", current)).status).toBe(401);
  });

  it("429: whoever tries codes is slowed down", async () => {
    const statuses = [];
    for (let n = 0; n < 12; n++) {
      const { status } = await newBrowser().send("POST", path, {
        body: { code: `guess-${n}-${"x".repeat(30)}` },
      });
      statuses.push(status);
    }
    expect(statuses.at(-1)).toBe(429);
    const key = await newBrowser().send("POST", "/v2/auth/sign-in/key", { body: { api_key: "trk_guess" } });
    expect(key.status).toBe(429);
  });
});

describe("where one goes after signing in", () => {
  it.each([
    ["/settings?tab=members#top", "/settings?tab=members#top"],
    ["/chat", "/chat"],
    ["https://evil.example/", "/"],
    ["//evil.example", "/"],
    ["/\\evil.example", "/"],
    ["/\t/evil.example", "/"],
    ["/a/..//evil.example", "/"],
    ["/d/hostile/", "/"],
    ["/x/../d/hostile/", "/"],
    ["/sign-in", "/"],
    ["settings", "/"],
    ["", "/"],
    [undefined, "/"],
  ])("%s: %s", (wanted, path) => {
    expect(returnPath(wanted)).toBe(path);
  });
});
