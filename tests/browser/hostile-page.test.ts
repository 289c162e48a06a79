import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type RunningConsole, signInBrowser, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { attackSource, hostileProject, type Report } from "../support/hostile-page.ts";
import { quickInstall } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let running: RunningConsole;
let git: GitServer;
let slug: string;
let pageUrl: string;
let deploymentId: string;
let threadId: string;
/** As people type it: the name that the origins of deployments end with, which is the harder case. */
let platform: string;

const plane: PlaneCalls = {
  call: (method, path, body) => running.app.call(method, path, { body }),
};

beforeAll(async () => {
  const deployments = await quickDeployments();
  [running, git] = await Promise.all([startConsole({ deployments }), startGitServer()]);
  const repository = await git.createRepository("hostile", hostileProject());
  const body = gitDeployment("hostile", repository.url);
  const source_config = { ...body.source_config, install_command: quickInstall };
  const { deployment, revision } = await deploy(plane, { ...body, source_config });
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  ({ id: deploymentId, slug } = deployment);
  const found = await running.app.call<{ page_url: string }>("GET", `/v2/deployments/${deploymentId}`);
  pageUrl = found.body.page_url;
  platform = `http://localhost:${new URL(running.url).port}`;
  const made = await running.app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
  threadId = made.body.thread_id;
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await running?.stop();
  await git?.stop();
});

/** Somebody who is signed in, and whose console has left things in the browser. */
async function victim(): Promise<{ context: BrowserContext; console: Page }> {
  const opened = await running.open("/", { apiKey: null });
  const { page } = opened;
  await signInBrowser(page, platform, running.app.apiKey);
  await page.goto(`${platform}/settings`);
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await page.evaluate(`new Promise((resolve, reject) => {
    localStorage.setItem("canary", "kept");
    sessionStorage.setItem("canary", "kept");
    const opening = indexedDB.open("canary");
    opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
    opening.onsuccess = () => { opening.result.close(); resolve(); };
    opening.onerror = () => reject(opening.error);
  })`);
  return { context: page.context(), console: page };
}

async function attackFrom(context: BrowserContext, place: string): Promise<Report> {
  const page = await context.newPage();
  await page.goto(`${place}/page?platform=${encodeURIComponent(platform)}&thread=${threadId}`);
  await page.getByText("A friendly page").waitFor();
  await page.waitForFunction("window.report !== undefined", undefined, { timeout: 120_000 });
  return page.evaluate("window.report") as Promise<Report>;
}

/** Names of the attempts that got something. */
const successes = (report: Report) =>
  Object.entries(report)
    .filter(([, { stopped }]) => stopped === undefined)
    .map(([name, { got }]) => [name, got]);

async function leftBehind() {
  const keys = await running.app.call<{ resources: { name: string }[] }>("GET", "/v2/api-keys?limit=100");
  const threads = await running.app.call<{ metadata: { stolen?: string } }[]>("POST", "/threads/search", {
    body: { limit: 100 },
  });
  return [
    ...keys.body.resources.map(({ name }) => name).filter((name) => name.startsWith("stolen")),
    ...threads.body.map(({ metadata }) => metadata.stolen).filter((mark) => mark !== undefined),
  ];
}

async function cookiesOf(context: BrowserContext) {
  const found = await context.cookies([platform, running.url, `${platform}/d/${slug}/page`]);
  return found.map(({ name, path, domain, value, httpOnly }) => ({ name, path, domain, value, httpOnly }));
}

async function isSignedIn(page: Page): Promise<void> {
  await page.reload();
  await page.getByRole("table", { name: "API keys" }).waitFor();
}

describe("the attempts", () => {
  it("work where they are allowed: in the console itself", async () => {
    const { console: page } = await victim();
    const report = (await page.evaluate(
      `(${attackSource.trim()})(${JSON.stringify(platform)}, ${JSON.stringify(threadId)})`,
    )) as Report;
    expect(report).toMatchObject({
      "read the console": { got: { status: 200, text: expect.stringContaining("<html") } },
      "read who is signed in": { got: { status: 200, text: expect.stringContaining("admin@localhost") } },
      "read keys": { got: { status: 200 } },
      "make a key": { got: { status: 201, text: expect.stringContaining("trk_") } },
      "read threads without a key": { got: { status: 200 } },
      "make a thread": { got: { status: 200 } },
      "open a socket": { got: "open" },
      "follow the feed of changes": { got: { status: 200 } },
      "open the console and look in": { got: "the console" },
      "read localStorage": { got: "kept" },
      "read sessionStorage": { got: "kept" },
      "read databases": { got: "kept" },
    });
    expect(await leftBehind()).toEqual(expect.arrayContaining(["stolen by json", "json"]));
    // No script reads the session, not even the console's own.
    expect(JSON.stringify(report["read cookies"])).not.toContain("treadle_session");
  });
});

describe.each([
  ["under the platform's own address", () => `${platform}/d/${slug}`],
  ["at an origin of its own", () => pageUrl],
])("a hostile page %s", (_where, place) => {
  it("gets nothing of the console, its storage or the API, and changes nothing", async () => {
    const { context, console: page } = await victim();
    const before = { left: await leftBehind(), cookies: await cookiesOf(context) };
    expect(before.cookies).toMatchObject([{ name: "treadle_session", httpOnly: true }]);
    const report = await attackFrom(context, place());
    expect(successes(report)).toEqual([]);
    expect(Object.keys(report)).toContain("set cookies");
    expect(await leftBehind()).toEqual(before.left);
    expect(await cookiesOf(context)).toEqual(before.cookies);
    await isSignedIn(page);
  });

  it("sets no cookie that the platform would read", async () => {
    const { context, console: page } = await victim();
    const [session] = await cookiesOf(context);
    const visited = await context.newPage();
    await visited.goto(`${place()}/cookies`);
    expect(await visited.textContent("body")).toBe("set");
    const cookies = await cookiesOf(context);
    expect(cookies.filter(({ path }) => path === "/")).toEqual([session]);
    expect(cookies.filter(({ path }) => path !== "/" && path !== `/d/${slug}`)).toEqual([]);
    expect(cookies.filter(({ name, value }) => name.includes("session") && value === "attacker")).toEqual([]);
    await isSignedIn(page);
  });

  it("puts no service worker between the console and its people", async () => {
    const { context, console: page } = await victim();
    const visited = await context.newPage();
    await visited.goto(`${place()}/own`);
    const scripts = [`${new URL(place()).pathname.replace(/\/$/, "")}/sw.js`, "/sw.js"];
    const registered = (await visited.evaluate(`Promise.all(${JSON.stringify(scripts)}.map(async (script) => {
      try { return (await navigator.serviceWorker.register(script, { scope: "/" })).scope; }
      catch (error) { return "stopped: " + error; }
    }))`)) as string[];
    const own = registered.filter((each) => !each.startsWith("stopped"));
    // At its own origin it may have one, for itself.
    expect(own.every((scope) => scope === `${pageUrl}/`)).toBe(true);
    expect(own.length > 0).toBe(place() === pageUrl);
    for (const worker of context.serviceWorkers()) expect(worker.url().startsWith(`${pageUrl}/`)).toBe(true);
    await isSignedIn(page);
    expect(await page.content()).not.toContain("taken over");
  });
});

describe("the deployment's page in the console", () => {
  it("leads to the pages at their own origin, without a way back", async () => {
    expect(pageUrl).toBe(`http://${slug}.localhost:${new URL(running.url).port}`);
    const opened = await running.open(`/deployments/${deploymentId}`);
    const { page } = opened;
    const link = page.getByRole("link", { name: pageUrl });
    await link.waitFor();
    expect(await link.getAttribute("href")).toBe(pageUrl);
    expect(await opened.violations()).toEqual([]);
    const [docs] = await Promise.all([
      page.context().waitForEvent("page"),
      page.getByRole("link", { name: "API reference", exact: true }).last().click(),
    ]);
    await docs.waitForLoadState();
    expect(docs.url()).toBe(`${pageUrl}/docs`);
    expect(await docs.evaluate("window.opener")).toBeNull();
    await docs.getByText("/threads/search").first().waitFor();
    // Where it shares the console's origin there is nothing it could act as.
    const own = await docs.evaluate(`fetch("/own").then((response) => response.text())`);
    expect(own).toBe("mine");
  });
});
