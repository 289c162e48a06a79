import { expect } from "vitest";
import type { Config } from "../../src/config/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createTestApp } from "./app.ts";
import { type BrowserClient, createBrowserClient } from "./browser-client.ts";
import { createPageVisitor, type PageAnswer } from "./page-visitor.ts";

export type Made = { id: string; slug: string };

/** The deployments serve nothing: this is what somebody gets who was let in. */
export const letIn = 503;

export const emptyDeployment = (name: string) => ({
  name,
  source: "internal_source",
  source_config: {},
  source_revision_config: {},
});

/** A server that asks for credentials, two deployments, and one in a workspace of which only the administrator is a member. */
export async function startPageSite(overrides: Partial<Config> = {}) {
  let aheadMs = 0;
  const clock = { now: () => new Date(systemClock.now().getTime() + aheadMs) };
  const app = await createTestApp({ agentAuthRequired: true, ...overrides }, { clock });
  const url = await app.listen();
  const visitor = createPageVisitor(new URL(url).port);
  const inDefault = { "x-tenant-id": app.workspaceId };

  async function made(name: string, workspaceId = app.workspaceId): Promise<Made> {
    const headers = { "x-tenant-id": workspaceId };
    return (await app.call<Made>("POST", "/v2/deployments", { body: emptyDeployment(name), headers })).body;
  }

  async function signedIn(apiKey: string): Promise<BrowserClient> {
    const client = createBrowserClient(async (request) => app.app.fetch(request), url);
    const { status } = await client.send("POST", "/v2/auth/sign-in/key", { body: { api_key: apiKey } });
    expect(status).toBe(201);
    return client;
  }

  const [first, second] = [await made("first"), await made("second")];
  const { body: workspace } = await app.call<{ id: string }>("POST", "/v2/workspaces", {
    body: { name: "Elsewhere" },
    headers: inDefault,
  });
  return {
    app,
    url,
    visitor,
    inDefault,
    first,
    second,
    elsewhere: { ...(await made("elsewhere", workspace.id)), workspaceId: workspace.id },
    admin: await signedIn(app.apiKey),
    /** A new member of the first workspace and of no other, signed in. */
    async member(role: "viewer" | "editor") {
      const { body: user } = await app.call<{ user_id: string }>("POST", "/v2/members", {
        body: { email: `${role}-${crypto.randomUUID()}@example.com`, role },
        headers: inDefault,
      });
      const { body: key } = await app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
        body: { name: role, user_id: user.user_id, role },
        headers: inDefault,
      });
      return { userId: user.user_id, keyId: key.id, browser: await signedIn(key.key) };
    },
    /** As if it were so much later. */
    async later(ms: number, work: () => Promise<void>): Promise<void> {
      aheadMs += ms;
      try {
        await work();
      } finally {
        aheadMs -= ms;
      }
    },
    /** A read, or a change, by a browser that has the cookie of the page. */
    withCookie: (slug: string, cookie: string, headers: Record<string, string> = {}, method = "GET") =>
      visitor.ask(
        slug,
        method === "GET" ? "/info" : "/threads",
        { cookie, "sec-fetch-site": "same-origin", ...headers },
        method,
      ),
  };
}

export type PageSite = Awaited<ReturnType<typeof startPageSite>>;

/** Told to a person, and nothing was given to the browser. */
export function expectRefusedPage(answer: PageAnswer): void {
  expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.text).toContain("Open the page again");
}
