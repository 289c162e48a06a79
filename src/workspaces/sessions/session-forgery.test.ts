import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserClient, createBrowserClient } from "../../../tests/support/browser-client.ts";
import { createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { isOwnPage } from "./own-page.ts";
import { readSessionCookie, sessionCookie } from "./session-cookie.ts";

/** What other people's pages can make a browser send, with the cookie of somebody who is signed in. */
let app: WorkspacesApp;
let browser: BrowserClient;
beforeAll(async () => {
  app = await createWorkspacesApp();
  browser = createBrowserClient(app.fetch);
  await browser.send("POST", "/v2/auth/sign-in/key", { body: { api_key: app.apiKey } });
});
afterAll(() => app?.stop());

const create = { body: { name: "made by an attacker" } };
const evil = { origin: "https://evil.example" };

describe("requests of other pages", () => {
  const forged: [what: string, headers: Record<string, string | null>][] = [
    ["a form of another site", { ...evil, "sec-fetch-site": "cross-site", "x-treadle-console": null }],
    [
      "a form whose page hides its origin",
      { origin: "null", "sec-fetch-site": null, "x-treadle-console": null },
    ],
    ["a page of a neighbouring origin", { origin: "http://agent.localhost", "sec-fetch-site": "same-site" }],
    ["another port of this machine", { origin: "http://127.0.0.1:9", "sec-fetch-site": "same-site" }],
    ["a browser that says nothing but the origin", { ...evil, "sec-fetch-site": null }],
    ["our own page without the console's header", { "x-treadle-console": null }],
    ["nothing but the header", { origin: null, "sec-fetch-site": null }],
    ["the address bar", { origin: null, "sec-fetch-site": "none", "x-treadle-console": null }],
  ];
  it.each(forged)("401: %s changes nothing", async (_what, headers) => {
    expect((await browser.send("POST", "/v2/workspaces", { ...create, headers })).status).toBe(401);
  });

  it("401: as text/plain and without cors, as forms send JSON", async () => {
    const answer = await browser.send("POST", "/v2/workspaces", {
      text: JSON.stringify(create.body),
      headers: {
        ...evil,
        "content-type": "text/plain",
        "sec-fetch-site": "cross-site",
        "x-treadle-console": null,
      },
    });
    expect(answer.status).toBe(401);
    const { body } = await app.call("GET", "/v2/workspaces");
    expect(JSON.stringify(body)).not.toContain("attacker");
  });

  it("401: reads neither", async () => {
    const read = (headers: Record<string, string | null>) =>
      browser.send("GET", "/v2/workspaces", { headers });
    expect((await read({ ...evil })).status).toBe(401);
    expect((await read({ "sec-fetch-site": "cross-site" })).status).toBe(401);
    expect((await read({ "sec-fetch-site": "same-site" })).status).toBe(401);
    expect((await read({ "sec-fetch-site": null, "x-treadle-console": null })).status).toBe(401);
    // The address bar, and a browser on plain http that sends no such header.
    expect((await read({ "sec-fetch-site": "none", "x-treadle-console": null })).status).toBe(200);
    expect((await read({ "sec-fetch-site": null })).status).toBe(200);
  });

  it("403: another site signs nobody in", async () => {
    const answer = await browser.send("POST", "/v2/auth/sign-in/key", {
      body: { api_key: app.apiKey },
      headers: { ...evil, "sec-fetch-site": "cross-site" },
    });
    expect(answer.status).toBe(403);
    expect(browser.received).toEqual([]);
    const bare = await browser.send("POST", "/v2/auth/sign-in/key", {
      body: { api_key: app.apiKey },
      headers: { "x-treadle-console": null },
    });
    expect(bare.status).toBe(403);
  });

  it("no preflight lets another site send the console's header", async () => {
    const answer = await app.fetch(
      new Request("http://127.0.0.1/v2/workspaces", {
        method: "OPTIONS",
        headers: {
          origin: "https://evil.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-treadle-console, content-type",
        },
      }),
    );
    expect(answer.headers.get("access-control-allow-headers") ?? "").not.toContain("x-treadle-console");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  });
});

describe("fixing a session", () => {
  it("a value nobody was given opens nothing, and signing in replaces it", async () => {
    const victim = createBrowserClient(app.fetch);
    const planted = "a".repeat(43);
    victim.cookies.set("treadle_session", planted);
    expect((await victim.send("GET", "/v2/workspaces")).status).toBe(401);
    await victim.send("POST", "/v2/auth/sign-in/key", { body: { api_key: app.apiKey } });
    expect(victim.cookies.get("treadle_session")).not.toBe(planted);
    const before = victim.cookies.get("treadle_session")!;
    await victim.send("POST", "/v2/auth/sign-in/key", { body: { api_key: app.apiKey } });
    const attacker = createBrowserClient(app.fetch);
    attacker.cookies.set("treadle_session", before);
    expect((await attacker.send("GET", "/v2/workspaces")).status).toBe(401);
  });

  it("two cookies of the name are none: a neighbour has set one of them", () => {
    const read = (cookie: string, https = false) => readSessionCookie(new Headers({ cookie }), { https });
    const [one, other] = ["a".repeat(43), "b".repeat(43)];
    expect(read(`treadle_session=${one}; other=1`)).toBe(one);
    expect(read(`treadle_session=${one}; treadle_session=${other}`)).toBeNull();
    expect(read(`__Host-treadle_session=${one}; treadle_session=${other}`)).toBe(one);
    expect(read(`treadle_session=${one}`, true)).toBeNull();
    expect(read(`__Host-treadle_session=${one}`, true)).toBe(one);
    expect(read("treadle_session=")).toBeNull();
  });
});

describe("the cookie", () => {
  it("is for this host, for no script and for no other site's request; over https under a name others cannot set", () => {
    expect(sessionCookie("v", { https: false }, null)).toBe(
      "treadle_session=v; Path=/; HttpOnly; SameSite=Strict",
    );
    expect(sessionCookie("v", { https: true }, 60)).toBe(
      "__Host-treadle_session=v; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=60",
    );
  });
});

describe("whose page it is", () => {
  const place = { publicUrl: "https://treadle.example.com", urlHost: "10.0.0.1:8124" };
  const own = (headers: Record<string, string>) =>
    isOwnPage(new Headers({ "x-treadle-console": "1", ...headers }), "POST", place);
  it("is known by the public address, and by the host the proxy was asked for", () => {
    expect(own({ origin: "https://treadle.example.com" })).toBe(true);
    expect(own({ origin: "https://inner.example", "x-forwarded-host": "inner.example" })).toBe(true);
    expect(own({ origin: "http://treadle.example.com", host: "treadle.example.com" })).toBe(false);
    expect(own({ origin: "https://treadle.example.com.evil.example" })).toBe(false);
    expect(own({ origin: "https://agent.treadle.example.com" })).toBe(false);
  });
});
