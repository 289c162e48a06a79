import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/index.ts";
import { type DnsServer, startDnsServer } from "../support/components/dns-server.ts";
import { letIn, type PageSite, startPageSite } from "../support/page-entry-site.ts";
import { cookieOf, createPageVisitor, opens } from "../support/page-visitor.ts";

/** How people who are signed in to the console enter the pages of a deployment at its domain. */
const domain = "agent.example.com";
type DomainBody = { state: string; url: string; record: { name: string; value: string } };

let dns: DnsServer;
let site: PageSite;
let visitor: PageSite["visitor"];
let origin: string;

beforeAll(async () => {
  dns = await startDnsServer();
  site = await startPageSite({
    deployments: { ...readConfig({}).deployments, dnsServers: [dns.address] },
  });
  const place = `/v2/deployments/${site.first.id}/domains`;
  const { body } = await site.app.call<DomainBody>("POST", place, {
    body: { domain },
    headers: site.inDefault,
  });
  dns.records.set(body.record.name, [body.record.value]);
  const path = `${place}/${domain}/verify`;
  const checked = await site.app.call<DomainBody>("POST", path, { headers: site.inDefault });
  expect(checked.body.state).toBe("verified");
  origin = checked.body.url;
  visitor = createPageVisitor(new URL(site.url).port, () => origin);
});
afterAll(async () => {
  await site?.app.stop();
  await dns?.stop();
});

const withCookie = (cookie: string, headers: Record<string, string> = {}, method = "GET") =>
  visitor.ask(
    site.first.slug,
    method === "GET" ? "/info" : "/threads",
    { cookie, "sec-fetch-site": "same-origin", ...headers },
    method,
  );

describe("a person who is signed in to the console", () => {
  it("is led through it and back to the domain, path included", async () => {
    const { state, entry, location } = await visitor.begin(site.first.slug, "/page?x=1");
    expect(`${location.origin}${location.pathname}`).toBe(`${site.url}/open/${site.first.slug}`);
    const way = await visitor.wayBack(site.admin, site.first.slug, state);
    const answer = await visitor.finish(site.first.slug, way, entry);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/page?x=1"]);
    const cookie = cookieOf(answer);
    expect((await withCookie(cookie)).status).toBe(letIn);
    expect((await withCookie(cookie, { origin }, "POST")).status).toBe(letIn);
    // Only from that very page, and only at that host.
    const foreign = { origin: site.visitor.originOf(site.first.slug) };
    expect((await withCookie(cookie, foreign, "POST")).status).toBe(403);
    expect((await site.withCookie(site.first.slug, cookie)).status).toBe(401);
    const elsewhere = await site.visitor.enter(site.admin, site.first.slug);
    expect((await withCookie(elsewhere)).status).toBe(401);
  });

  it("has to be a member of the deployment's workspace", async () => {
    const { browser } = await site.member("viewer");
    const cookie = await visitor.enter(browser, site.first.slug);
    expect((await withCookie(cookie)).status).toBe(letIn);
    expect((await withCookie(cookie, { origin }, "POST")).status).toBe(403);
    // An attempt at one deployment's domain is none at another deployment.
    const { state } = await visitor.begin(site.first.slug);
    expect((await site.visitor.codeFor(site.admin, site.second.slug, state)).status).toBe(400);
  });
});

describe("removal", () => {
  it("stops serving at once, and the log of changes has all of it", async () => {
    expect((await visitor.ask(site.first.slug, "/page", opens)).status).toBe(303);
    const path = `/v2/deployments/${site.first.id}/domains/${domain}`;
    expect((await site.app.call("DELETE", path, { headers: site.inDefault })).status).toBe(204);
    expect((await visitor.ask(site.first.slug, "/page", opens)).status).toBe(404);
    const { body } = await site.app.call<{ resources: { action: string; details: object }[] }>(
      "GET",
      `/v2/audit-events?target_id=${site.first.id}&limit=100`,
      { headers: site.inDefault },
    );
    const told = body.resources.filter(({ action }) => action.startsWith("deployment.domain_"));
    expect(told.map(({ action, details }) => [action, details]).reverse()).toEqual([
      ["deployment.domain_added", { domain, state: "pending" }],
      ["deployment.domain_checked", { domain, state: "verified" }],
      ["deployment.domain_removed", { domain }],
    ]);
  });
});
