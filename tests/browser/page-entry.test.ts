import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { quickDeployments } from "../support/compiled-agent.ts";
import { freePort } from "../support/components/free-port.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ConsolePage, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import type { Report } from "../support/hostile-page.ts";
import { friendlyProject, neighbourProject } from "../support/page-projects.ts";
import { quickInstall } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

type PageReport = {
  read: number;
  change: number;
  event: string;
  socket: string;
  cookie: string;
  seen: Record<string, string>;
  thread: string;
};

/**
 * On this machine every deployment is a site of its own. Under one domain, and over plain http, deployments are one site
 * to a browser, which then sends their cookies along with a neighbour's requests and reveals least about who asks.
 */
describe.each([
  ["on this machine", null],
  ["under one domain", "agents.example.test"],
] as const)("pages %s", (_where, domain) => {
  let running: RunningConsole;
  let git: GitServer;
  let friendly: { id: string; slug: string; page_url: string };
  let neighbour: { id: string; page_url: string };

  const plane: PlaneCalls = {
    call: (method, path, body) => running.app.call(method, path, { body, headers: inDefault() }),
  };
  const inDefault = () => ({ "x-tenant-id": running.app.workspaceId });

  async function deployed<Body>(name: string, files: Parameters<GitServer["createRepository"]>[1]) {
    const repository = await git.createRepository(name, files);
    const body = gitDeployment(name, repository.url);
    const source_config = { ...body.source_config, install_command: quickInstall };
    const { deployment, revision } = await deploy(plane, { ...body, source_config });
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    return (await plane.call<Body>("GET", `/v2/deployments/${deployment.id}`)).body;
  }

  beforeAll(async () => {
    const port = await freePort();
    const deployments = await quickDeployments(domain ? { url: `http://{slug}.${domain}:${port}` } : {});
    const flags = domain ? [`--host-resolver-rules=MAP *.${domain} 127.0.0.1`] : [];
    [running, git] = await Promise.all([
      startConsole({ agentAuthRequired: true, deployments, ...(domain ? { port } : {}) }, flags),
      startGitServer(),
    ]);
    friendly = await deployed("friendly", friendlyProject());
    neighbour = await deployed("neighbour", neighbourProject());
  });
  afterEach(() => running?.closeAll());
  afterAll(async () => {
    if (running) await dropDeploymentDatabases(running.app.database);
    await running?.stop();
    await git?.stop();
  });

  async function reportOf(page: Page): Promise<PageReport> {
    await page.getByText("A friendly page").waitFor();
    await page.waitForFunction("window.report !== undefined");
    return page.evaluate("window.report") as Promise<PageReport>;
  }

  async function visit({ page }: ConsolePage, address: string): Promise<Page> {
    const opened = await page.context().newPage();
    await opened.goto(address);
    return opened;
  }

  const worked = { read: 200, change: 200, event: "told", socket: "open" };
  const pageCookies = async (context: BrowserContext) =>
    (await context.cookies([friendly.page_url])).filter(({ name }) => name === "treadle_page");

  it("open after signing in, at the very address, and work", async () => {
    const stranger = await running.open("/", { apiKey: null });
    const page = await visit(stranger, `${friendly.page_url}/page?x=1#part`);
    const at = new RegExp(`^${running.url}/open/${friendly.slug}\\?state=`);
    await page.waitForURL(at);
    await page.getByLabel("API key").fill(running.app.apiKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    const report = await reportOf(page);
    expect(page.url()).toBe(`${friendly.page_url}/page?x=1#part`);
    expect(report).toMatchObject(worked);
    // Neither its scripts nor its server see who let them in.
    expect(report.cookie).toBe("");
    expect(report.seen).not.toHaveProperty("cookie");
    expect(JSON.stringify(report.seen)).not.toContain("tdt_");
    const host = new URL(friendly.page_url).hostname;
    expect(await pageCookies(page.context())).toMatchObject([
      { domain: host, path: "/", httpOnly: true, sameSite: "Lax" },
    ]);
    // The way there is no page to come back to.
    await page.reload();
    expect(await reportOf(page)).toMatchObject(worked);
  });

  it("open by the console's link", async () => {
    const opened = await running.open(`/deployments/${friendly.id}`);
    const link = opened.link(friendly.page_url);
    await link.waitFor();
    const [page] = await Promise.all([opened.page.context().waitForEvent("page"), link.click()]);
    expect(await reportOf(page)).toMatchObject(worked);
    expect(page.url()).toBe(`${friendly.page_url}/`);
  });

  it("set none of the platform's cookies", async () => {
    const opened = await running.open("/");
    const page = await visit(opened, `${friendly.page_url}/plant`);
    await page.getByText("planted").waitFor();
    const cookies = await page.context().cookies([friendly.page_url]);
    expect(cookies.map(({ name }) => name).sort()).toEqual(["mine", "treadle_page", "treadle_page_entry"]);
    expect(cookies.filter(({ value }) => value.includes("planted"))).toEqual([]);
    await page.goto(`${friendly.page_url}/page`);
    const report = await reportOf(page);
    expect([report.cookie, report.seen.cookie]).toEqual(["mine=1", "mine=1"]);
  });

  it("are of no use to a neighbour", async () => {
    const opened = await running.open("/");
    const page = await visit(opened, friendly.page_url);
    const { thread, ...report } = await reportOf(page);
    expect(report).toMatchObject(worked);
    const query = new URLSearchParams({ victim: friendly.page_url, thread });
    const hostile = await visit(opened, `${neighbour.page_url}/?${query}`);
    await hostile.getByText("A neighbour").waitFor();
    await hostile.waitForFunction("window.report !== undefined", undefined, { timeout: 120_000 });
    const attempts = (await hostile.evaluate("window.report")) as Report;
    const successes = Object.keys(attempts).filter((name) => attempts[name]!.stopped === undefined);
    expect(Object.keys(attempts)).toContain("cookies");
    // The page itself may: what the neighbour tried does work.
    const own = await page.evaluate(`(async () => {
      await fetch("/mark", { method: "POST", body: "own" });
      await new Promise((resolve) => Object.assign(document.body.appendChild(document.createElement("script")), { src: "/secret.js", onload: resolve }));
      return [window.secret, await (await fetch("/marks")).json()];
    })()`);
    expect([successes, own]).toEqual([[], ["told", ["own"]]]);
  });

  it("say so in plain words where one has no right", async () => {
    const { body: workspace } = await running.app.call<{ id: string }>("POST", "/v2/workspaces", {
      body: { name: `Elsewhere ${domain}` },
      headers: inDefault(),
    });
    const headers = { "x-tenant-id": workspace.id };
    const { body: user } = await running.app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email: "grace@example.com", role: "editor" },
      headers,
    });
    const { body: key } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "grace's", user_id: user.user_id },
      headers,
    });
    const opened = await running.open("/", { apiKey: key.key });
    await opened.page.goto(friendly.page_url);
    await opened.heading("This page cannot be opened").waitFor();
    await opened.text("You may not open the pages of").waitFor();
    expect(await opened.violations()).toEqual([]);
    expect(await pageCookies(opened.page.context())).toEqual([]);
  });

  it("close when one signs out of the console", async () => {
    const opened = await running.open("/");
    const page = await visit(opened, friendly.page_url);
    expect(await reportOf(page)).toMatchObject(worked);
    await opened.visit("/settings?tab=sessions");
    await opened.button("Sign out this browser").click();
    await opened.heading("Sign in").waitFor();
    expect(await page.evaluate(`fetch("/headers").then(({ status }) => status)`)).toBe(401);
    await page.reload();
    await page.getByLabel("API key").waitFor();
    expect(page.url().startsWith(`${running.url}/open/`)).toBe(true);
  });
});
