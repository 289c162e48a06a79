import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { phone, type RunningConsole, startConsole, zoomed } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;

beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

const pages = [
  "Overview",
  "Deployments",
  "Agents",
  "Traces",
  "Evaluation",
  "Exports",
  "Alerts",
  "Connections",
  "Settings",
];

/** A key for several workspaces must name one. */
const inDefault = () => ({ "x-tenant-id": running.app.workspaceId });

/** A finished run, as an SDK would send it. */
async function trace(name: string, more: Record<string, unknown> = {}) {
  const id = randomUUID();
  const now = new Date().toISOString();
  const body = {
    id,
    trace_id: id,
    name,
    run_type: "chain",
    inputs: {},
    outputs: {},
    start_time: now,
    end_time: now,
  };
  const sent = await running.app.call("POST", "/api/v1/runs", {
    body: { ...body, ...more },
    headers: inDefault(),
  });
  expect(sent.status).toBeLessThan(300);
  return id;
}

describe("signing in", () => {
  it("asks a stranger for a key, refuses a wrong one, and comes back to where one was", async () => {
    const page = await running.open("/settings?tab=members", { apiKey: null });
    await page.heading("Sign in").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Sign in").click();
    await page.text("Paste an API key first.").waitFor();
    await page.field("API key").fill("trk_wrong");
    await page.button("Sign in").click();
    await page.text("The server does not know this key.").waitFor();
    await page.field("API key").fill(running.app.apiKey);
    await page.page.keyboard.press("Enter");
    await page.page.getByRole("table", { name: "Members" }).waitFor();
    expect(page.path).toBe("/settings?tab=members");
    // No script of this host finds a key or a session.
    const readable = await page.page.evaluate(
      "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)",
    );
    expect(readable).not.toContain(running.app.apiKey);
    const [cookie, ...more] = await page.page.context().cookies();
    expect(more).toEqual([]);
    expect(cookie).toMatchObject({ name: "treadle_session", httpOnly: true, sameSite: "Strict", path: "/" });
    expect(readable).not.toContain(cookie!.value);
    // Until the browser is closed.
    expect(cookie!.expires).toBe(-1);
    expect(page.errors).toEqual([]);
  });

  it("stays signed in when asked to", async () => {
    const page = await running.open("/", { apiKey: null });
    await page.field("API key").fill(running.app.apiKey);
    await page.field(/Stay signed in/).check();
    await page.button("Sign in").click();
    await page.heading("Overview").waitFor();
    const [cookie] = await page.page.context().cookies();
    expect(cookie!.expires).toBeGreaterThan(Date.now() / 1000 + 6 * 86_400);
    const tab = await page.page.context().newPage();
    await tab.goto(`${running.url}/settings`);
    await tab.getByRole("heading", { name: "Settings" }).waitFor();
    // And signing out in one tab is signing out in all of them.
    await tab.getByRole("button", { name: "Sign out" }).click();
    await page.heading("Sign in").waitFor();
  });

  it("forgets the keys that earlier versions kept, and signs nobody in with them or by an address", async () => {
    const page = await running.open("/console/assets/none.js", { apiKey: null });
    await page.page.evaluate(`localStorage.setItem("treadle.console.api-key", "${running.app.apiKey}")`);
    await page.page.evaluate(`sessionStorage.setItem("treadle.console.api-key", "${running.app.apiKey}")`);
    await page.visit(`/deployments#key=${running.app.apiKey}`);
    await page.text("This link no longer works").waitFor();
    expect(page.path).toBe("/deployments");
    expect(await page.page.evaluate("JSON.stringify([localStorage, sessionStorage])")).toBe("[{},{}]");
    expect(await page.page.context().cookies()).toEqual([]);
    expect(await page.violations()).toEqual([]);
  });

  it("stays whoever one is when an address brings somebody else's key", async () => {
    const { body: key } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "an attacker's", role: "viewer" },
      headers: inDefault(),
    });
    const page = await running.open("/settings");
    await page.heading("Settings").waitFor();
    await page.page.goto(`${running.url}/settings#key=${key.key}`);
    await page.visit("/");
    await page.heading("Overview").waitFor();
    const { body } = await running.app.call<{ resources: { role: string }[] }>("GET", "/v2/api-keys", {
      headers: inDefault(),
    });
    expect(body.resources.length).toBeGreaterThan(0);
    await page.link("Settings").click();
    await page.page.getByRole("button", { name: "New key" }).waitFor();
  });

  it("goes to the sign-in page when the key is revoked, whatever one does next", async () => {
    const { body } = await running.app.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
      body: { name: "short-lived" },
      headers: inDefault(),
    });
    const page = await running.open("/deployments", { apiKey: body.key });
    await page.heading("Deployments").waitFor();
    const revoked = await running.app.call("DELETE", `/v2/api-keys/${body.id}`, { headers: inDefault() });
    expect(revoked.status).toBe(204);
    await page.link("Settings").click();
    await page.heading("Sign in").waitFor();
    expect(page.path).toBe("/settings");
  });
});

describe("the shell", () => {
  it("leads to every page, by clicks and by keys, and each is usable by everybody", async () => {
    const page = await running.open("/");
    for (const name of pages) {
      await page.page
        .getByRole("navigation", { name: "Console" })
        .getByRole("link", { name, exact: true })
        .click();
      await page.heading(name).waitFor();
      await page.settled();
      expect(await page.page.title()).toBe(`${name} · Treadle`);
      // As a bookmark, or a link in a message, opens it.
      expect([name, (await page.page.context().request.get(page.page.url())).status()]).toEqual([name, 200]);
      expect(await page.violations(), name).toEqual([]);
    }
    await page.page.keyboard.press("g");
    await page.page.keyboard.press("d");
    await page.heading("Deployments").waitFor();
    expect(page.errors).toEqual([]);
  });

  it.each(["/", "/agents/built-in"])("loads at most 150 KB of compressed script at %s", async (path) => {
    const page = await running.open(path);
    await page.page.getByRole("heading", { level: 1 }).waitFor();
    await page.settled();
    const sizes = await page.page.evaluate<number[]>(
      `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js")).map(({ encodedBodySize }) => encodedBodySize)`,
    );
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(150_000);
  });

  it("does not hold a connection while nobody looks at it, and follows again when somebody does", async () => {
    const page = await running.open("/");
    const isStream = (request: { url(): string }) => request.url().includes("/v2/events?");
    const first = page.page.waitForRequest(isStream);
    await page.page.reload();
    await first;
    const show = (hidden: boolean) =>
      page.page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    const ended = page.page.waitForEvent("requestfailed", isStream);
    await show(true);
    await ended;
    const begun = page.page.waitForRequest(isStream);
    await show(false);
    await begun;
  });

  it("fits a phone, with the menu behind a button", async () => {
    const page = await running.open("/", { viewport: phone });
    for (const name of pages) {
      await page.button("Open the menu").click();
      await page.page
        .getByRole("navigation", { name: "Console" })
        .getByRole("link", { name, exact: true })
        .click();
      await page.heading(name).waitFor();
      await page.settled();
      expect(await page.overflowing(), name).toEqual([]);
    }
    await page.button("Open the menu").click();
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("link", { name: "Overview", exact: true }).press("Escape");
    await page.button("Open the menu").waitFor();
  });

  it("is dark or light as one chooses, and remembers it", async () => {
    const page = await running.open("/", { colorScheme: "light" });
    const background = () => page.page.evaluate("getComputedStyle(document.body).backgroundColor");
    await page.heading("Overview").waitFor();
    const light = await background();
    await page.button(/^Colours: system/).click();
    await page.button(/^Colours: light/).click();
    await page.button(/^Colours: dark/).waitFor();
    expect(await background()).not.toBe(light);
    expect(await page.violations()).toEqual([]);
    await page.page.reload();
    await page.button(/^Colours: dark/).waitFor();
    expect(await background()).not.toBe(light);
  });

  it("finds anything with Ctrl-K and lists its keys with ?, by the keyboard alone", async () => {
    const id = await trace("a needle");
    const page = await running.open("/");
    await page.page.getByRole("button", { name: /Find anything/ }).waitFor();
    const { keyboard } = page.page;
    await keyboard.press("Control+k");
    const field = page.page.getByRole("combobox", { name: "Name or id" });
    await field.fill("expo");
    await page.page.getByRole("option", { name: /Exports/ }).waitFor();
    expect(await page.violations()).toEqual([]);
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowUp");
    await keyboard.press("Enter");
    await page.heading("Exports").waitFor();
    await keyboard.press("Control+k");
    await field.fill(id.slice(0, 20));
    await page.page.getByRole("option", { name: /a needle/ }).waitFor();
    await keyboard.press("Enter");
    await page.page.waitForURL(`**/r/${id}*`);
    await keyboard.press("?");
    const keys = page.page.getByRole("dialog", { name: "Keys" });
    await keys.getByText("Go to Deployments").waitFor();
    expect(await page.violations()).toEqual([]);
    await keyboard.press("Escape");
    await keys.waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });

  it("reflows at 200 % zoom: nothing has to be scrolled sideways, and each page has its heading", async () => {
    const page = await running.open("/", zoomed);
    for (const path of [
      ...["/", "/deployments", "/deployments/new", "/agents", "/agents/built-in", "/traces", "/exports"],
      ...["/exports/new", "/connections", "/settings", "/settings?tab=members", "/settings?tab=models"],
      ...["/alerts", "/alerts/new", "/datasets", "/queues", "/exports/destinations", "/settings?tab=audit"],
    ]) {
      await page.visit(path);
      await page.page.getByRole("heading", { level: 1 }).waitFor();
      await page.settled();
      expect([path, await page.overflowing(), await page.violations()]).toEqual([path, [], []]);
    }
    await page.page.keyboard.press("?");
    await page.page.getByRole("dialog", { name: "Keys" }).waitFor();
    expect(await page.violations()).toEqual([]);
  });

  it("has a reference that works with the session, with a body that works and samples in three languages", async () => {
    const page = await running.open("/");
    await page.page.goto(`${running.url}/docs#waitStatelessRun`);
    const operation = page.page.locator("details#waitStatelessRun");
    await operation.getByRole("button", { name: "Send" }).click();
    await operation.getByRole("heading", { name: /^200/ }).waitFor();
    const language = operation.getByLabel("Language of the sample");
    await language.selectOption("Python");
    expect(await operation.locator(".code pre").textContent()).toContain('"assistant_id": "agent"');
    expect(await operation.locator(".code pre").textContent()).toContain("requests.post(");
    await language.selectOption("TypeScript");
    expect(await operation.locator(".code pre").textContent()).toContain("await fetch(");
    await page.page.setViewportSize(phone);
    await operation.getByText("Start a run on a new thread and return its final values").waitFor();
    await page.page.getByRole("navigation", { name: "Groups" }).waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("is a page at every address, also at one that is nothing", async () => {
    const page = await running.open("/nowhere/at/all");
    await page.text("There is no such page").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("link", { name: "Go to the overview" }).click();
    await page.heading("Overview").waitFor();
  });

  it("says when there is no such page, and when there is no such thing", async () => {
    const page = await running.open(`/deployments/${randomUUID()}`);
    await page.text(/Deployment ID .* not found/).waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit("/deployments/one/two/three");
    await page.text("There is no such page").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.visit("/settings/nothing");
    await page.heading("Settings").waitFor();
  });
});

describe("the overview", () => {
  it("shows an empty platform what to do first, and what happens as it happens", async () => {
    const { body: workspace } = await running.app.call<{ id: string }>("POST", "/v2/workspaces", {
      body: { name: "Fresh" },
      headers: inDefault(),
    });
    const inside = { "x-tenant-id": workspace.id };
    const { body: key } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "fresh" },
      headers: inside,
    });
    const page = await running.open("/", { apiKey: key.key });
    await page.page.getByRole("heading", { name: "First steps" }).waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.button("Copy: deploy the project in this folder").click();
    expect(await page.page.evaluate("navigator.clipboard.readText()")).toBe("treadle deploy");

    // Nobody reloads: the page is notified.
    const id = randomUUID();
    const now = new Date().toISOString();
    const run = {
      id,
      trace_id: id,
      name: "checkout",
      run_type: "chain",
      inputs: {},
      start_time: now,
      end_time: now,
    };
    const sent = await running.app.call("POST", "/api/v1/runs", {
      body: { ...run, error: "TimeoutError: nobody answered" },
      headers: { "x-api-key": key.key },
    });
    expect(sent.status).toBeLessThan(300);
    await page.page
      .getByRole("table", { name: "Last traces" })
      .getByRole("link", { name: "checkout" })
      .waitFor();
    await page.text("TimeoutError: nobody answered").waitFor();
    await page
      .link(/Traces, last day/)
      .getByText("100 % errors")
      .waitFor();
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("goes on by itself when the server was away", async () => {
    const page = await running.open("/");
    await page.heading("Overview").waitFor();
    await page.settled();
    await page.page.context().setOffline(true);
    await page.link("Deployments").first().click();
    await page.text("The server does not respond.").waitFor();
    await page.page.context().setOffline(false);
    await page.page.locator(".offline").waitFor({ state: "detached" });
    await page.settled();
    expect(await page.page.locator(".state.bad").count()).toBe(0);
    expect(page.errors).toEqual([]);
  });

  it("says what it waits for while the server is not ready, and goes on by itself", async () => {
    const page = await running.open("/settings");
    await page.page.route("**/api/v1/sessions*", (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/json",
        body: JSON.stringify({ detail: "The database does not answer." }),
      }),
    );
    await page.link("Traces").first().click();
    await page.page.getByRole("heading", { name: "The server is not ready" }).waitFor();
    await page.text("The database does not answer.").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page.unroute("**/api/v1/sessions*");
    await page.settled();
    await page.page.locator(".state.bad").waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });

  it("shows a run that failed among the recent activity and leads to it", async () => {
    const id = await trace("nightly-report", { error: "the disk is full" });
    const page = await running.open("/");
    const entry = page.link(/nightly-report/).first();
    await entry.waitFor();
    expect(await entry.getAttribute("href")).toContain(`/r/${id}`);
  });
});
