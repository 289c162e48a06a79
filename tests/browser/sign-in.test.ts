import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../support/components/free-port.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let provider: OAuthServer;
let running: RunningConsole;

beforeAll(async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  provider = await startOAuthServer({
    interaction: "form",
    clients: [
      { clientId: "treadle", clientSecret: "of the client", redirectUris: [`${url}/v2/auth/oidc/callback`] },
    ],
    accounts: [
      {
        username: "ada",
        password: "engine",
        claims: { name: "Ada", email: "ada@example.com", email_verified: true, groups: ["weavers"] },
      },
    ],
  });
  running = await startConsole({
    port,
    signIn: {
      sessions: { idleMs: 3_600_000, lifetimeMs: 86_400_000 },
      oidc: {
        issuer: provider.issuer,
        clientId: "treadle",
        clientSecret: "of the client",
        name: "the Mill",
        scopes: "openid email profile",
        groupsClaim: "groups",
        roles: [{ group: "weavers", role: "editor" }],
        workspaceId: undefined,
        trustEmail: false,
        required: false,
      },
    },
  });
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  await running?.stop();
  await provider?.stop();
});

async function enterAtProvider({ page }: ConsolePage, answer: "Allow" | "Deny") {
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("engine");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: answer }).click();
}

describe("single sign-on", () => {
  it("leads to the provider and back to where one was, as oneself", async () => {
    const page = await running.open("/settings?tab=sessions", { apiKey: null });
    const link = page.link("Continue with the Mill");
    await link.waitFor();
    expect(await page.violations()).toEqual([]);
    // By keyboard: it is the first thing on the page.
    await page.page.keyboard.press("Tab");
    await page.page.keyboard.press("Enter");
    await enterAtProvider(page, "Allow");
    await page.page.getByRole("table", { name: "Sessions" }).getByText("Single sign-on").waitFor();
    expect(page.path).toBe("/settings?tab=sessions");
    await page.text("ada@example.com").waitFor();
    expect(await page.violations()).toEqual([]);
    const [cookie, ...more] = (await page.page.context().cookies(running.url)).filter(({ name }) =>
      name.startsWith("treadle"),
    );
    expect(cookie).toMatchObject({ name: "treadle_session", httpOnly: true, sameSite: "Strict" });
    expect(more).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("says what to do when it was not allowed, on a phone and in the dark", async () => {
    const page = await running.open("/deployments", {
      apiKey: null,
      viewport: phone,
      colorScheme: "dark",
    });
    await page.link("Continue with the Mill").click();
    await enterAtProvider(page, "Deny");
    await page.text("You are not signed in").waitFor();
    expect(await page.violations()).toEqual([]);
    expect(await page.overflowing()).toEqual([]);
    // And it continues from there.
    await page.field("API key").fill(running.app.apiKey);
    await page.button("Sign in").click();
    await page.heading("Deployments").waitFor();
    expect(page.path).toBe("/deployments");
  });

  it("does not follow an address to another host", async () => {
    const page = await running.open("/sign-in?return_to=https%3A%2F%2Fevil.example%2F");
    await page.heading("Overview").waitFor();
    await page.visit("/sign-in?return_to=%2F%2Fevil.example");
    await page.heading("Overview").waitFor();
  });
});

describe("a one-time link", () => {
  const newLink = () => running.app.started().then(({ signInLink }) => signInLink());

  it("signs in, leaves the address at once, and works once", async () => {
    const link = await newLink();
    const path = link.slice(running.url.length);
    const page = await running.open(path, { apiKey: null });
    await page.heading("Overview").waitFor();
    expect(page.path).toBe("/");
    await page.text("admin@localhost").waitFor();
    const second = await running.open(path, { apiKey: null });
    await second.heading("This link does not work").waitFor();
    // The link of an invited person looks the same, and that person cannot run commands on the server.
    await second.text(/If you were invited, ask for a new link/).waitFor();
    expect(await second.violations()).toEqual([]);
    await second.button("Go to the sign-in page").click();
    await second.field("API key").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("asks before it signs somebody else out", async () => {
    const inDefault = { "x-tenant-id": running.app.workspaceId };
    const member = await running.app.call<{ user_id: string }>("POST", "/v2/members", {
      body: { email: "grace@example.com", role: "viewer" },
      headers: inDefault,
    });
    const { body } = await running.app.call<{ key: string }>("POST", "/v2/api-keys", {
      body: { name: "grace's", user_id: member.body.user_id },
      headers: inDefault,
    });
    const link = await newLink();
    const page = await running.open("/", { apiKey: body.key });
    await page.text("grace@example.com").waitFor();
    await page.page.goto(link);
    await page.heading("Sign in as somebody else?").waitFor();
    await page.text("You are signed in as grace@example.com.").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Stay signed in").click();
    await page.heading("Overview").waitFor();
    await page.text("grace@example.com").waitFor();
    await page.page.goto(link);
    await page.button("Sign out and use the link").click();
    await page.text("admin@localhost").waitFor();
    expect(page.errors).toEqual([]);
  });
});

describe("one's sessions", () => {
  it("are listed, and another browser is signed out from here", async () => {
    const elsewhere = await running.open("/deployments");
    await elsewhere.heading("Deployments").waitFor();
    const page = await running.open("/settings?tab=sessions");
    const table = page.page.getByRole("table", { name: "Sessions" });
    await table.getByText("this one").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Sign out everywhere else").click();
    await page.page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.text(/Signed out elsewhere: \d+\./).waitFor();
    await elsewhere.link("Settings").click();
    await elsewhere.heading("Sign in").waitFor();
    await page.button("Sign out this browser").click();
    await page.heading("Sign in").waitFor();
    expect(await page.page.context().cookies()).toEqual([]);
  });
});
