import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBrowserClient } from "../support/browser-client.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { expectRefusedPage, letIn, type PageSite, startPageSite } from "../support/page-entry-site.ts";
import { cookieOf, opens } from "../support/page-visitor.ts";

/** How somebody who is signed in to the console gets into the pages of a deployment on a server that asks for credentials, and who does not. */
let app: PageSite["app"];
let url: PageSite["url"];
let visitor: PageSite["visitor"];
let inDefault: PageSite["inDefault"];
let first: PageSite["first"];
let second: PageSite["second"];
let elsewhere: PageSite["elsewhere"];
let admin: PageSite["admin"];
let member: PageSite["member"];
let later: PageSite["later"];
let withCookie: PageSite["withCookie"];

beforeAll(async () => {
  ({ app, url, visitor, inDefault, first, second, elsewhere, admin, member, later, withCookie } =
    await startPageSite());
});
afterAll(() => app?.stop());

type Event = { action: string; outcome: string; error_code: string | null };
async function events(workspaceId = app.workspaceId) {
  const { body } = await app.call<{ resources: (Event & Record<string, unknown>)[] }>(
    "GET",
    "/v2/audit-events?action=deployment.page_opened&limit=100",
    { headers: { "x-tenant-id": workspaceId } },
  );
  return body.resources;
}

describe("without a credential", () => {
  it("303: a browser that opens a page is sent to the console, and remembered", async () => {
    for (const headers of [opens, { ...opens, "sec-fetch-site": "cross-site" }, { accept: "text/html" }]) {
      const answer = await visitor.ask(first.slug, "/page?x=1", headers);
      expect(answer.status).toBe(303);
      const { origin, pathname, searchParams } = new URL(answer.headers.get("location")!);
      expect([origin, pathname, [...searchParams.keys()]]).toEqual([url, `/open/${first.slug}`, ["state"]]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^treadle_page_entry=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/),
      ]);
    }
    expect((await visitor.ask(first.slug, "/page", opens, "HEAD")).status).toBe(303);
  });

  it("keeps the secret of a browser that opens several pages at once", async () => {
    const one = await visitor.begin(first.slug, "/one");
    const two = await visitor.begin(first.slug, "/two", one.entry);
    expect(two.entry).toBe(one.entry);
    for (const { state } of [one, two]) {
      const way = await visitor.wayBack(admin, first.slug, state);
      expect((await visitor.finish(first.slug, way, one.entry)).status).toBe(303);
    }
  });

  it("401: everything else", async () => {
    const script = { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty", accept: "text/html" };
    for (const headers of [{}, script, { ...opens, "sec-fetch-dest": "iframe" }] as Record<
      string,
      string
    >[]) {
      const answer = await visitor.ask(first.slug, "/page", headers);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([401, { detail: expect.any(String) }]);
    }
    expect((await visitor.ask(first.slug, "/threads", opens, "POST")).status).toBe(401);
    // A wrong key is refused, even beside what opens the page.
    expect((await visitor.ask(first.slug, "/", { ...opens, "x-api-key": "a wrong key, long" })).status).toBe(
      401,
    );
  });

  it("the same for a name that is nobody's, so that nobody can probe for names", async () => {
    expect((await visitor.begin("nobody")).location.pathname).toBe("/open/nobody");
  });

  it("401: under the platform's own address", async () => {
    const answer = await fetch(`${url}/d/${first.slug}/`, { headers: opens, redirect: "manual" });
    expect(answer.status).toBe(401);
  });
});

describe("somebody who is signed in to the console", () => {
  it("comes back to the path asked for first, with a cookie of that host alone", async () => {
    const { state, entry } = await visitor.begin(first.slug, "/page?x=1&y=%2F");
    const answer = await visitor.finish(first.slug, await visitor.wayBack(admin, first.slug, state), entry);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/page?x=1&y=%2F"]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const [line] = answer.headers.getSetCookie();
    expect(line).toMatch(/^treadle_page=tdt_[\w.-]+; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await withCookie(first.slug, cookieOf(answer))).status).toBe(letIn);
    const claims = decodeJwt(cookieOf(answer).slice("treadle_page=tdt_".length));
    expect(claims).toMatchObject({
      deployment_id: first.id,
      workspace_id: app.workspaceId,
      page_origin: visitor.originOf(first.slug),
      session_id: expect.any(String),
    });
    expect(claims.exp! - claims.iat!).toBe(12 * 3_600);
  });

  it("is never led to another host", async () => {
    const begun = await visitor.begin(first.slug, "//evil.example/x");
    const back = await visitor.wayBack(admin, first.slug, begun.state);
    const answered = await visitor.finish(first.slug, back, begun.entry);
    expect([answered.status, answered.headers.get("location")]).toEqual([303, "/"]);
    // What could be read in two ways is refused before anything else.
    for (const path of ["/\\evil.example", "/x/..//evil.example", "/./%2e/evil.example"])
      expect((await visitor.ask(first.slug, path, opens)).status, path).toBe(400);
    // And nothing else of the address decides where to go.
    const { state, entry } = await visitor.begin(first.slug, "/");
    const way = await visitor.wayBack(admin, first.slug, state);
    const answer = await visitor.finish(first.slug, `${way}&path=//evil.example&return_to=//evil`, entry);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
  });

  it("enters what belongs to another of their workspaces, and is named in that one's audit log", async () => {
    const cookie = await visitor.enter(admin, elsewhere.slug);
    expect((await withCookie(elsewhere.slug, cookie)).status).toBe(letIn);
    expect(await events(elsewhere.workspaceId)).toMatchObject([
      {
        action: "deployment.page_opened",
        outcome: "done",
        target: { kind: "deployment", id: elsewhere.id, name: elsewhere.slug },
        workspace_id: elsewhere.workspaceId,
        actor: { kind: "person", via: "console", session_id: expect.any(String) },
      },
    ]);
  });

  it("403: in plain words, for what is not theirs, and the same for what is not there", async () => {
    const { browser } = await member("viewer");
    const words: unknown[] = [];
    for (const slug of [elsewhere.slug, "nobody"]) {
      const { state } = await visitor.begin(slug);
      const { status, body } = await visitor.codeFor(browser, slug, state);
      expect(status).toBe(403);
      words.push((body as { detail: string }).detail.replace(slug, "…"));
    }
    expect(words[0]).toContain("You may not open the pages of");
    expect(words[1]).toBe(words[0]);
  });
});

describe("a code", () => {
  it("401 and 403: is made for a session of the console, asked for by the console", async () => {
    const { state } = await visitor.begin(first.slug);
    const path = `/v2/deployment-pages/${first.slug}/codes`;
    const nobody = createBrowserClient(async (request) => app.app.fetch(request), url);
    expect((await nobody.send("POST", path, { body: { state } })).status).toBe(401);
    expect((await app.call("POST", path, { body: { state }, headers: inDefault })).status).toBe(403);
    // By a page of the deployment: the cookie is not taken.
    const headers = { origin: visitor.originOf(first.slug), "sec-fetch-site": "cross-site" };
    expect((await admin.send("POST", path, { body: { state }, headers })).status).toBe(401);
    const unmarked = { "x-treadle-console": null };
    expect((await admin.send("POST", path, { body: { state }, headers: unmarked })).status).toBe(401);
  });

  it("400: is not made for an attempt at another page, an old one, or one that nobody began", async () => {
    const other = await visitor.begin(second.slug);
    const old = await visitor.begin(first.slug);
    for (const state of [other.state, "invented", old.state.slice(0, -4)])
      expect((await visitor.codeFor(admin, first.slug, state)).status).toBe(400);
    await later(10 * 60_000, async () => {
      expect((await visitor.codeFor(admin, first.slug, old.state)).status).toBe(400);
    });
  });

  it("works once", async () => {
    const { state, entry } = await visitor.begin(first.slug);
    const way = await visitor.wayBack(admin, first.slug, state);
    const answers = await Promise.all([1, 2, 3].map(() => visitor.finish(first.slug, way, entry)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403]);
    expectRefusedPage(await visitor.finish(first.slug, way, entry));
  });

  it("is not used up by what only looks at the address", async () => {
    const { state, entry: cookie } = await visitor.begin(first.slug);
    const way = await visitor.wayBack(admin, first.slug, state);
    expect((await visitor.ask(first.slug, way, { ...opens, cookie }, "HEAD")).status).toBe(400);
    expect((await visitor.ask(first.slug, way, { cookie })).status).toBe(400);
    expect((await visitor.finish(first.slug, way, cookie)).status).toBe(303);
  });

  it("is good for a minute", async () => {
    const { state, entry } = await visitor.begin(first.slug);
    const [inTime, late] = [
      await visitor.wayBack(admin, first.slug, state),
      await visitor.wayBack(admin, first.slug, state),
    ];
    await later(30_000, async () => {
      expect((await visitor.finish(first.slug, inTime, entry)).status).toBe(303);
    });
    await later(61_000, async () => expectRefusedPage(await visitor.finish(first.slug, late, entry)));
  });

  it("403: is no use to another browser, so nobody is signed in as somebody else", async () => {
    const attacker = (await member("editor")).browser;
    const begun = await visitor.begin(first.slug);
    const way = await visitor.wayBack(attacker, first.slug, begun.state);
    // A victim who has begun nothing, and one who has.
    expectRefusedPage(await visitor.finish(first.slug, way));
    const victim = await visitor.begin(first.slug);
    expectRefusedPage(await visitor.finish(first.slug, way, victim.entry));
    // The victim's own state with the attacker's code.
    const code = new URLSearchParams(way.split("?")[1]).get("code")!;
    const mixed = `/.treadle/enter?${new URLSearchParams({ code, state: victim.state })}`;
    expectRefusedPage(await visitor.finish(first.slug, mixed, victim.entry));
    // Two entry cookies: one was planted.
    const two = `${victim.entry}; ${begun.entry}`;
    expectRefusedPage(await visitor.finish(first.slug, way, two));
    const told = async () => {
      const refused = (await events()).filter(({ outcome }) => outcome === "refused");
      const codes = new Set(refused.map(({ error_code }) => error_code));
      return ["page.not_begun_here", "page.bad_code", "page.two_cookies"].every((each) => codes.has(each));
    };
    await waitUntil(told, { what: "the refusals in the audit log", timeoutMs: 20_000 });
  });

  it("403: is no use at another deployment", async () => {
    const [one, two] = [await visitor.begin(first.slug), await visitor.begin(second.slug)];
    const way = await visitor.wayBack(admin, first.slug, one.state);
    expectRefusedPage(await visitor.finish(second.slug, way, one.entry));
    const code = new URLSearchParams(way.split("?")[1]).get("code")!;
    const mixed = `/.treadle/enter?${new URLSearchParams({ code, state: two.state })}`;
    expectRefusedPage(await visitor.finish(second.slug, mixed, two.entry));
    // It was presented, so it is used up.
    expectRefusedPage(await visitor.finish(first.slug, way, one.entry));
  });

  it("403: ends with the session that asked for it", async () => {
    const { browser } = await member("viewer");
    const { state, entry } = await visitor.begin(first.slug);
    const way = await visitor.wayBack(browser, first.slug, state);
    expect((await browser.send("DELETE", "/v2/auth/sessions/current")).status).toBe(204);
    expectRefusedPage(await visitor.finish(first.slug, way, entry));
  });
});
