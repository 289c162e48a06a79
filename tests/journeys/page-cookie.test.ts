import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { readConfig } from "../../src/config/index.ts";
import { createTestApp } from "../support/app.ts";
import { type BrowserClient, createBrowserClient } from "../support/browser-client.ts";
import {
  emptyDeployment,
  expectRefusedPage,
  letIn,
  type Made,
  type PageSite,
  startPageSite,
} from "../support/page-entry-site.ts";
import { cookieOf, createPageVisitor, opens } from "../support/page-visitor.ts";

/** What the cookie of a deployment's page opens, for whom, and until when. */
let app: PageSite["app"];
let url: PageSite["url"];
let visitor: PageSite["visitor"];
let inDefault: PageSite["inDefault"];
let first: PageSite["first"];
let second: PageSite["second"];
let admin: PageSite["admin"];
let member: PageSite["member"];
let later: PageSite["later"];
let withCookie: PageSite["withCookie"];

beforeAll(async () => {
  ({ app, url, visitor, inDefault, first, second, admin, member, later, withCookie } = await startPageSite());
});
afterAll(() => app?.stop());

describe("the cookie of a page", () => {
  it("lets the page read as the person's role does, and change no more", async () => {
    const [viewer, editor] = [await member("viewer"), await member("editor")];
    const origin = visitor.originOf(first.slug);
    const statuses = async (browser: BrowserClient) => {
      const cookie = await visitor.enter(browser, first.slug);
      const own = { origin, "sec-fetch-site": "same-origin" };
      const read = await withCookie(first.slug, cookie, { "sec-fetch-site": "same-origin" });
      const search = await visitor.ask(first.slug, "/threads/search", { cookie, ...own }, "POST");
      const change = await withCookie(first.slug, cookie, own, "POST");
      return [read.status, search.status, change.status];
    };
    expect(await statuses(viewer.browser)).toEqual([letIn, letIn, 403]);
    expect(await statuses(editor.browser)).toEqual([letIn, letIn, letIn]);
  });

  it("403: does not count for changes that another page sends, a neighbour's too", async () => {
    const cookie = await visitor.enter(admin, first.slug);
    const foreign = [visitor.originOf(second.slug), url, "https://evil.example", "null", undefined];
    for (const origin of foreign) {
      const headers = origin === undefined ? {} : { origin };
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const answer = await withCookie(first.slug, cookie, headers as Record<string, string>, method);
        expect([origin, method, answer.status]).toEqual([origin, method, 403]);
        expect(answer.headers.get("x-error-code")).toBe("gateway.foreign_page");
      }
    }
  });

  it("403: does not count for reads of another page, but for a link that is followed", async () => {
    const cookie = await visitor.enter(admin, first.slug);
    for (const site of ["same-site", "cross-site"]) {
      const image = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
      expect((await withCookie(first.slug, cookie, image)).status).toBe(403);
      const frame = { ...opens, "sec-fetch-site": site, "sec-fetch-dest": "iframe" };
      expect((await withCookie(first.slug, cookie, frame)).status).toBe(403);
      expect((await withCookie(first.slug, cookie, { ...opens, "sec-fetch-site": site })).status).toBe(letIn);
    }
    const fetched = { origin: visitor.originOf(second.slug) };
    expect((await withCookie(first.slug, cookie, fetched)).status).toBe(403);
  });

  it("403: opens WebSockets from its own page alone", async () => {
    const cookie = await visitor.enter(admin, first.slug);
    const { port } = new URL(url);
    const open = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const host = `${first.slug}.localhost:${port}`;
        const socket = new WebSocket(`ws://127.0.0.1:${port}/threads`, { headers: { host, ...headers } });
        socket.once("unexpected-response", (request, response) => {
          resolve(response.statusCode ?? 0);
          request.destroy();
        });
        socket.once("error", reject);
      });
    expect(await open({ cookie, origin: visitor.originOf(first.slug) })).toBe(letIn);
    expect(await open({ cookie, origin: visitor.originOf(second.slug) })).toBe(403);
    expect(await open({ cookie, origin: url })).toBe(403);
    expect(await open({ cookie })).toBe(403);
    expect(await open({ origin: visitor.originOf(first.slug) })).toBe(401);
    const viewer = await visitor.enter((await member("viewer")).browser, first.slug);
    expect(await open({ cookie: viewer, origin: visitor.originOf(first.slug) })).toBe(403);
  });

  it("401: opens no other deployment, and nothing of the platform", async () => {
    const cookie = await visitor.enter(admin, first.slug);
    expect((await withCookie(second.slug, cookie)).status).toBe(401);
    const token = cookie.slice("treadle_page=".length);
    // Not as a key either, not even at its own deployment.
    const statuses = await Promise.all([
      fetch(`${url}/d/${first.slug}/info`, { headers: { "x-api-key": token } }),
      fetch(`${url}/d/${first.slug}/info`, { headers: { cookie } }),
      fetch(`${url}/v2/deployments`, { headers: { "x-api-key": token } }),
      fetch(`${url}/v2/deployments`, { headers: { authorization: `Bearer ${token}` } }),
      fetch(`${url}/v2/deployments`, { headers: { cookie, "sec-fetch-site": "same-origin" } }),
      fetch(`${url}/v2/deployments`, { headers: { cookie: `treadle_session=${token}`, origin: url } }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401]);
    expect((await visitor.ask(first.slug, "/info", { "x-api-key": token })).status).toBe(401);
  });

  it("401: is not what the console sends to deployments, nor a session of it", async () => {
    const { body } = await admin.send("POST", `/v2/deployments/${first.id}/tokens`);
    const { token } = body as { token: string };
    expect((await visitor.ask(first.slug, "/info", { "x-api-key": token })).status).toBe(letIn);
    expect((await withCookie(first.slug, `treadle_page=${token}`)).status).toBe(401);
    const session = admin.cookies.get("treadle_session")!;
    expect((await withCookie(first.slug, `treadle_session=${session}`)).status).toBe(401);
    expect((await withCookie(first.slug, `treadle_page=${session}`)).status).toBe(401);
  });

  it("401 and 403: counts as none when there are two, without an endless way round", async () => {
    const [mine, planted] = [
      await visitor.enter(admin, first.slug),
      await visitor.enter((await member("editor")).browser, first.slug),
    ];
    for (const cookie of [`${mine}; ${planted}`, `${planted}; ${mine}`]) {
      expect((await withCookie(first.slug, cookie)).status).toBe(401);
      const opened = await visitor.ask(first.slug, "/", { ...opens, cookie });
      expectRefusedPage(opened);
      expect(opened.text).toContain("treadle_page");
    }
  });

  it("ends when its person signs out, and the next visit asks again", async () => {
    const { browser } = await member("viewer");
    const cookie = await visitor.enter(browser, first.slug);
    expect((await withCookie(first.slug, cookie)).status).toBe(letIn);
    expect((await browser.send("DELETE", "/v2/auth/sessions/current")).status).toBe(204);
    expect((await withCookie(first.slug, cookie)).status).toBe(401);
    expect((await visitor.begin(first.slug, "/", cookie)).location.pathname).toBe(`/open/${first.slug}`);
  });

  it("ends with the key its person signed in with, with the membership, and after twelve hours", async () => {
    const [keyless, gone] = [await member("viewer"), await member("viewer")];
    const cookies = [
      await visitor.enter(keyless.browser, first.slug),
      await visitor.enter(gone.browser, first.slug),
      await visitor.enter(admin, first.slug),
    ];
    for (const cookie of cookies) expect((await withCookie(first.slug, cookie)).status).toBe(letIn);
    const headers = inDefault;
    expect((await app.call("DELETE", `/v2/api-keys/${keyless.keyId}`, { headers })).status).toBe(204);
    expect((await app.call("DELETE", `/v2/members/${gone.userId}`, { headers })).status).toBe(204);
    expect((await withCookie(first.slug, cookies[0]!)).status).toBe(401);
    expect((await withCookie(first.slug, cookies[1]!)).status).toBe(401);
    await later(12 * 3_600_000, async () => {
      expect((await withCookie(first.slug, cookies[2]!)).status).toBe(401);
    });
  });

  it("follows the person's role", async () => {
    const { browser, userId } = await member("editor");
    const cookie = await visitor.enter(browser, first.slug);
    const own = { origin: visitor.originOf(first.slug) };
    expect((await withCookie(first.slug, cookie, own, "POST")).status).toBe(letIn);
    const lowered = { body: { role: "viewer" }, headers: inDefault };
    expect((await app.call("PATCH", `/v2/members/${userId}`, lowered)).status).toBe(200);
    expect((await withCookie(first.slug, cookie, own, "POST")).status).toBe(403);
    expect((await withCookie(first.slug, cookie)).status).toBe(letIn);
  });
});

describe("over https", () => {
  it("both cookies are Secure, under names that neighbours cannot set", async () => {
    const https = await createTestApp({
      agentAuthRequired: true,
      publicUrl: "https://treadle.example.com",
      deployments: { ...readConfig({}).deployments, url: "https://{slug}.agents.example.com" },
    });
    try {
      const { port } = await https.started();
      const there = createPageVisitor(port, (slug) => `https://${slug}.agents.example.com`);
      const { body } = await https.call<Made>("POST", "/v2/deployments", {
        body: emptyDeployment("safe"),
      });
      const { slug } = body;
      const { answer, location, state, entry } = await there.begin(slug, "/x");
      expect(location.href.startsWith(`https://treadle.example.com/open/${slug}?state=`)).toBe(true);
      expect(answer.headers.getSetCookie()[0]).toMatch(
        /^__Host-treadle_page_entry=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=600$/,
      );
      const client = createBrowserClient(
        async (request) => https.app.fetch(request),
        "https://treadle.example.com",
      );
      await client.send("POST", "/v2/auth/sign-in/key", { body: { api_key: https.apiKey } });
      const way = await there.wayBack(client, slug, state);
      // The plain name is anybody's.
      expectRefusedPage(await there.finish(slug, way, entry.replace("__Host-", "")));
      const entered = await there.finish(slug, await there.wayBack(client, slug, state), entry);
      expect(entered.headers.getSetCookie()[0]).toMatch(
        /^__Host-treadle_page=tdt_[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      const cookie = cookieOf(entered);
      const read = (value: string) =>
        there.ask(slug, "/info", { cookie: value, "sec-fetch-site": "same-origin" });
      expect((await read(cookie)).status).toBe(letIn);
      expect((await read(cookie.replace("__Host-", ""))).status).toBe(401);
      const own = { cookie, origin: `https://${slug}.agents.example.com` };
      expect((await there.ask(slug, "/threads", own, "POST")).status).toBe(letIn);
      const downgraded = { cookie, origin: `http://${slug}.agents.example.com` };
      expect((await there.ask(slug, "/threads", downgraded, "POST")).status).toBe(403);
    } finally {
      await https.stop();
    }
  });
});

describe("while no credential is asked for", () => {
  it("nobody is sent anywhere, and no cookie of the platform counts", async () => {
    const open = await createTestApp();
    try {
      const { port } = await open.started();
      const there = createPageVisitor(port);
      const { body } = await open.call<Made>("POST", "/v2/deployments", {
        body: emptyDeployment("open"),
      });
      expect((await there.ask(body.slug, "/", opens)).status).toBe(letIn);
      const cookie = await visitor.enter((await member("viewer")).browser, first.slug);
      const own = { cookie, origin: there.originOf(body.slug) };
      expect((await there.ask(body.slug, "/threads", own, "POST")).status).toBe(letIn);
      expect((await there.ask(body.slug, "/.treadle/enter?code=x&state=y", opens)).status).toBe(letIn);
    } finally {
      await open.stop();
    }
  });
});
