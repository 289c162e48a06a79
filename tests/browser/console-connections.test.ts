import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { introspect } from "../support/auth-service-app.ts";
import { callbackUri, clientId, clientSecret, providerBody } from "../support/auth-service-provider.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 240_000 });

const password = randomBytes(8).toString("hex");
let running: RunningConsole;
let server: OAuthServer;

beforeAll(async () => {
  // Asked for a key everywhere, as a server is that others can reach.
  running = await startConsole({ agentAuthRequired: true });
  server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(running.url, "weaver")] }],
    accounts: [{ username: "ada", password, claims: { name: "Ada Lovelace", email: "ada@example.com" } }],
    interaction: "form",
  });
});
beforeEach(async () => {
  await running.app.call("DELETE", "/v2/auth/tokens?provider_id=weaver&force=true");
  for (const { provider_id } of await list<{ provider_id: string }>("/v2/auth/providers")) {
    await running.app.call("DELETE", `/v2/auth/providers/${provider_id}`);
  }
  for (const { auth_id } of await list<{ auth_id: string }>("/v2/auth/authorizations")) {
    await running.app.call("DELETE", `/v2/auth/authorizations/${auth_id}`);
  }
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  await running?.stop();
  await server?.stop();
});

const list = async <Item>(path: string) => (await running.app.call<Item[]>("GET", path)).body;
const addWeaver = () =>
  running.app.call("POST", "/v2/auth/providers", {
    body: providerBody(server, { provider_id: "weaver", name: "Weaver" }),
  });
const authenticate = async (body: Record<string, unknown> = {}) =>
  (
    await running.app.call<Record<string, string>>("POST", "/v2/auth/authenticate", {
      body: { provider: "weaver", scopes: ["openid"], ...body },
    })
  ).body;

/** The provider's own pages, in the tab that was opened. */
async function signIn(tab: Page): Promise<void> {
  await tab.getByLabel("User name").fill("ada");
  await tab.getByLabel("Password").fill(password);
  await tab.getByRole("button", { name: "Sign in" }).click();
}

async function openedBy(page: ConsolePage, click: () => Promise<void>): Promise<Page> {
  const [tab] = await Promise.all([page.page.waitForEvent("popup"), click()]);
  return tab;
}

const accountRow = (page: ConsolePage, name: string | RegExp) =>
  page.page.getByRole("table", { name: "My accounts" }).getByRole("row").filter({ hasText: name });

describe("accounts", () => {
  it("are connected at the provider, shown at once, and revoked there", async () => {
    await addWeaver();
    const page = await running.open("/connections");
    await page.text("You have not connected an account").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Connect an account").click();
    await page.field("Scopes").fill("openid email");
    expect(await page.violations()).toEqual([]);
    const tab = await openedBy(page, () => page.button("Continue at Weaver").click());
    await page.text("This page continues by itself").waitFor();
    await signIn(tab);
    expect(await tab.evaluate("window.opener")).toBeNull();
    await tab.getByRole("button", { name: "Allow" }).click();
    // No key is asked for: the tab has it from the console's.
    await tab.getByRole("heading", { name: "Account connected" }).waitFor();
    await accountRow(page, "ada").waitFor();
    expect(await accountRow(page, "ada").textContent()).toMatch(/Weaver.*Active.*openid.*Every agent/);
    expect(await page.violations()).toEqual([]);

    const { token } = await authenticate();
    expect(await introspect(server, token!)).toMatchObject({ active: true });
    expect(await page.page.content()).not.toContain(token);
    await page.button("Revoke ada").click();
    await page.text("Its access is revoked at").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.text("Revoked at Weaver and deleted.").waitFor();
    await page.text("You have not connected an account").waitFor();
    expect(await introspect(server, token!)).toEqual({ active: false });
    await page.link("Events").click();
    await page.text("Revoked").waitFor();
    expect(await page.page.getByRole("table").textContent()).toMatch(/Revoked.*Connected/s);
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("say that the person refused, and let them try again", async () => {
    await addWeaver();
    const page = await running.open("/connections");
    await page.button("Connect an account").click();
    await page.field("Scopes").fill("openid");
    const tab = await openedBy(page, () => page.button("Continue at Weaver").click());
    await signIn(tab);
    await tab.getByRole("button", { name: "Deny" }).click();
    await page.text("You did not give your consent").waitFor();
    await page.button("Try again").click();
    await page.field("Scopes").waitFor();
  });

  it("that died say so, and are connected again as the same one", async () => {
    await addWeaver();
    const imported = await running.app.call<{ token_id: string }>("POST", "/v2/auth/tokens/import", {
      body: {
        provider_id: "weaver",
        access_token: "old",
        refresh_token: "no-longer-valid",
        expires_in_seconds: 1,
        scopes: ["openid"],
      },
    });
    await expect
      .poll(async () => (await authenticate({ check_only: true })).status, { timeout: 10_000 })
      .toBe("token_expired");
    const page = await running.open("/connections");
    await page.text("Must reconnect").waitFor();
    await page.button(/^Reconnect/).click();
    const tab = await openedBy(page, () => page.button("Continue at Weaver").click());
    await signIn(tab);
    await tab.getByRole("button", { name: "Allow" }).click();
    await accountRow(page, "Active").waitFor();
    const [account, ...others] = await list<{ id: string }>("/v2/auth/tokens");
    expect([account!.id, others]).toEqual([imported.body.token_id, []]);
    await page.link("Events").click();
    await page.text("Disconnected").waitFor();
    await page.button("Mark as seen").click();
    await page.button("Mark as seen").waitFor({ state: "detached" });
  });

  it("that cannot be revoked stay, unless the person deletes them here only", async () => {
    const body = providerBody(server, {
      provider_id: "weaver",
      name: "Weaver",
      revocation_url: `${server.issuer}/nowhere`,
    });
    await running.app.call("POST", "/v2/auth/providers", { body });
    const imported = { provider_id: "weaver", access_token: "kept" };
    await running.app.call("POST", "/v2/auth/tokens/import", { body: imported });
    const page = await running.open("/connections");
    await page.button(/^Revoke/).click();
    const dialog = page.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.text("Weaver did not revoke it").waitFor();
    await dialog.getByRole("button", { name: "Delete it here only" }).click();
    await page.text("You have not connected an account").waitFor();
  });
});

describe("what an agent asked for", () => {
  it("appears by itself, is given or declined, and goes", async () => {
    await addWeaver();
    const page = await running.open("/connections");
    await page.text("You have not connected an account").waitFor();
    const pending = await authenticate({ agent_id: "calendar-helper" });
    await page.text("Agent calendar-helper asks for its own Weaver account").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Decline Weaver").click();
    await page.page.getByRole("dialog").getByRole("button", { name: "Decline" }).click();
    await page.text("One consent waits for you").waitFor({ state: "detached" });
    const waited = await running.app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=0`);
    expect(waited.body).toMatchObject({ status: "denied", detail: expect.stringContaining("declined") });

    await authenticate({ agent_id: "calendar-helper" });
    await page.text("One consent waits for you").waitFor();
    const tab = await openedBy(page, () => page.link("Connect Weaver").click());
    await signIn(tab);
    await tab.getByRole("button", { name: "Allow" }).click();
    await tab.getByRole("heading", { name: "Account connected" }).waitFor();
    await accountRow(page, "Agent calendar-helper").waitFor();
    // The two lists are loaded apart, in either order.
    await page.text("One consent waits for you").waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });
});

describe("providers", () => {
  it("are added from the catalogue with an id and a secret, changed and deleted", async () => {
    const page = await running.open("/connections");
    await page.text("First, a provider").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.link("Add a provider").click();
    await page.text("GitHub").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.page.keyboard.press("/");
    await page.page.keyboard.type("git");
    await page.link(/GitHub/).click();
    expect(page.path).toBe("/connections/new?template=github");
    expect(await page.page.locator(".copy-block").textContent()).toContain(
      callbackUri(running.url, "github"),
    );
    expect(await page.violations()).toEqual([]);
    await page.button("Add GitHub").click();
    await page.text("Copy it from GitHub.").waitFor();
    await page.field("Client id").fill("an-id");
    await page.field("Client secret").fill("a-secret");
    await page.button("Add GitHub").click();
    await page.heading(/^GitHub$/).waitFor();
    expect(page.path).toBe("/connections/providers/github");
    expect(await page.page.content()).not.toContain("a-secret");
    expect(await page.violations()).toEqual([]);
    await page.button("Edit").click();
    await page.field("Name").fill("Our GitHub");
    expect(await page.violations()).toEqual([]);
    await page.button("Save").click();
    await page.heading("Our GitHub").waitFor();
    await page.button("Delete").click();
    await page.field("Type github to confirm").fill("github");
    await page.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.text("No provider yet").waitFor();
    expect(await list("/v2/auth/providers")).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("that are no template's need their addresses, and say what is wrong with them", async () => {
    const page = await running.open("/connections/new?kind=custom");
    await page.field("Name").fill("Weaver");
    await page.field("Authorization URL").fill("nonsense");
    await page.button("Add the provider").click();
    await page.text("Write the full address").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Authorization URL").fill(server.authorizationEndpoint);
    await page.field("Token URL").fill(server.tokenEndpoint);
    await page.field("Client id").fill(clientId);
    await page.field("Client secret").fill(clientSecret);
    await page.button("Add the provider").click();
    await page.heading("Weaver").waitFor();
    expect(await list("/v2/auth/providers")).toMatchObject([{ provider_id: "weaver", uses_pkce: true }]);
  });

  it("of MCP servers are found by an address, or the page says why not", async () => {
    const page = await running.open("/connections/new?kind=mcp");
    // Nobody listens there.
    await page.field("Address of the server").fill("http://127.0.0.1:9/mcp");
    await page.field("Name").fill("Tools");
    expect(await page.field("Id").inputValue()).toBe("tools");
    await page.button("Find and add").click();
    await page.page.locator(".error-line").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.field("Address of the server").fill(`${server.issuer}/mcp`);
    await page.button("Find and add").click();
    await page.heading("Tools").waitFor();
    await page.text("Registered by itself").waitFor();
    expect(await list("/v2/auth/providers")).toMatchObject([
      { provider_id: "tools", is_dynamic_client: true, mcp_server_url: `${server.issuer}/mcp` },
    ]);
  });

  it("are shown, and not changed, to who may only look", async () => {
    await addWeaver();
    const viewer = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "looks", role: "viewer" },
    });
    const page = await running.open("/connections?tab=providers", { apiKey: viewer.body.key });
    await page.link("Weaver").click();
    await page.heading("Weaver").waitFor();
    expect(await page.button(/Delete|Edit|Connect/).count()).toBe(0);
    await page.visit("/connections/new");
    await page.text("Your key can only read").waitFor();
  });
});

it("fits a phone", async () => {
  await addWeaver();
  const scopes = ["openid", "email", "calendar.readonly"];
  const imported = { provider_id: "weaver", access_token: "x", scopes };
  await running.app.call("POST", "/v2/auth/tokens/import", { body: imported });
  await authenticate({ agent_id: "an-agent-with-quite-a-long-name", force_new: true });
  const page = await running.open("/connections", { viewport: phone });
  for (const path of [
    "/connections",
    "/connections?tab=providers",
    "/connections?tab=events",
    "/connections/new",
    "/connections/new?template=github",
    "/connections/providers/weaver",
  ]) {
    await page.visit(path);
    await page.page.locator("main h1").waitFor();
    await page.settled();
    expect([path, await page.overflowing()]).toEqual([path, []]);
    expect([path, await page.violations()]).toEqual([path, []]);
  }
}, 180_000);
