import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AuthServiceApp, createAuthServiceApp, introspect } from "../support/auth-service-app.ts";
import {
  callbackUri,
  clientId,
  clientSecret,
  providerBody,
  startConsent,
} from "../support/auth-service-provider.ts";
import { launchBrowser, type TestBrowser } from "../support/components/chromium.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { signInBrowser } from "../support/console-page.ts";

const password = randomBytes(8).toString("hex");
let browser: TestBrowser;
let open: Stage;
let closed: Stage;

type Stage = { app: AuthServiceApp; server: OAuthServer; stop(): Promise<void> };

/** A server and a provider that shows its own pages; `closed` asks for a credential also on loopback. */
async function setStage(agentAuthRequired: boolean): Promise<Stage> {
  const app = await createAuthServiceApp({ agentAuthRequired });
  await app.serve();
  const server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(app.url, "test")] }],
    accounts: [{ username: "ada", password, claims: { email: "ada@example.com" } }],
    interaction: "form",
  });
  const created = await app.call("POST", "/v2/auth/providers", { body: providerBody(server) });
  expect(created.status).toBe(200);
  return {
    app,
    server,
    stop: async () => {
      await app.stop();
      await server.stop();
    },
  };
}

beforeAll(async () => {
  browser = await launchBrowser();
  open = await setStage(false);
  closed = await setStage(true);
}, 240_000);
afterAll(async () => {
  await browser?.stop();
  await open?.stop();
  await closed?.stop();
});

async function signInAndAllow(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.fill('input[name="username"]', "ada");
  await page.fill('input[name="password"]', password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
}

/** Fails the test on anything the page's policy had to block and on errors of its script. */
function watch(page: Page): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/.test(message.text()))
      problems.push(message.text());
  });
  return problems;
}

describe("in a browser", () => {
  it("a person signs in, allows, and is connected; the waiting agent gets the token", async () => {
    const { app, server } = open;
    const page = await browser.newPage();
    const problems = watch(page);
    const pending = await startConsent(app);
    const waiting = app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=60`);
    await signInAndAllow(page, pending.url);
    await page.getByRole("heading", { name: "Account connected" }).waitFor();
    const { body } = await waiting;
    expect(body.status).toBe("completed");
    expect(await introspect(server, body.token as string)).toMatchObject({ active: true, sub: "ada" });
    expect(page.url()).toBe(callbackUri(app.url, "test"));
    expect(await page.content()).not.toContain(body.token as string);
    expect(problems).toEqual([]);
    await page.reload();
    await page.getByRole("heading", { name: "Nothing to do" }).waitFor();
  }, 60_000);

  it("asks for the key of who started it where the server wants a credential", async () => {
    const { app } = closed;
    const stranger = await app.addPerson("stranger@example.com");
    const page = await browser.newPage();
    const problems = watch(page);
    const pending = await startConsent(app);
    await signInAndAllow(page, pending.url);
    await page.getByRole("heading", { name: "One more step" }).waitFor();
    const enter = async (key: string) => {
      await page.getByLabel("API key of the user who started this").fill(key);
      await page.getByRole("button", { name: "Finish" }).click();
    };
    await enter("no-such-key-at-all");
    await page.getByText("That key is not known here").waitFor();
    await enter(stranger.key);
    await page.getByText("started by another user").waitFor();
    expect((await app.call("GET", "/v2/auth/tokens/exists?provider_id=test")).body).toEqual({
      has_token: false,
    });
    await enter(app.admin.key);
    await page.getByRole("heading", { name: "Account connected" }).waitFor();
    expect((await app.call("GET", "/v2/auth/tokens/exists?provider_id=test")).body).toEqual({
      has_token: true,
    });
    expect(await page.evaluate("document.cookie + JSON.stringify(localStorage)")).toBe("{}");
    expect(problems).toEqual([]);
  }, 60_000);

  it("knows who is signed in to the console, and leaves them signed in when that is of no use", async () => {
    const { app } = closed;
    const stranger = await app.addPerson("stays@example.com");
    const finishAs = async (key: string) => {
      const page = await browser.newPage();
      await signInBrowser(page, app.url, key);
      await signInAndAllow(page, (await startConsent(app, { force_new: true })).url);
      return page;
    };
    const own = await finishAs(app.admin.key);
    await own.getByRole("heading", { name: "Account connected" }).waitFor();
    const other = await finishAs(stranger.key);
    await other.getByText("started by another user").waitFor();
    await other.getByLabel("API key of the user who started this").fill(app.admin.key);
    await other.getByRole("button", { name: "Finish" }).click();
    await other.getByRole("heading", { name: "Account connected" }).waitFor();
    const still = await other.context().request.get(`${app.url}/v2/auth/sessions/current`, {
      headers: { "x-treadle-console": "1" },
    });
    expect(await still.json()).toMatchObject({ user: { email: "stays@example.com" } });
    expect(await other.evaluate("JSON.stringify([localStorage, sessionStorage])")).toBe("[{},{}]");
  }, 60_000);

  it("shows nothing of what a link puts into the address, and runs none of it", async () => {
    const { app } = open;
    const page = await browser.newPage();
    let alerted = false;
    page.on("dialog", (dialog) => {
      alerted = true;
      void dialog.dismiss();
    });
    const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    const query = new URLSearchParams({ state: evil, error: evil, error_description: evil, code: evil });
    await page.goto(`${callbackUri(app.url, "test")}?${query}`);
    await page.getByRole("heading", { name: "Not connected" }).waitFor();
    expect(await page.textContent("body")).not.toContain("onerror");
    expect(await page.locator("img").count()).toBe(0);
    expect(alerted).toBe(false);
    expect(page.url()).toBe(callbackUri(app.url, "test"));
  }, 60_000);

  it("says so when the person refuses, and the waiting agent hears of it", async () => {
    const { app } = open;
    const page = await browser.newPage();
    const pending = await startConsent(app, { force_new: true });
    const state = new URL(pending.url).searchParams.get("state")!;
    const query = new URLSearchParams({ state, error: "access_denied" });
    await page.goto(`${callbackUri(app.url, "test")}?${query}`);
    await page.getByText("You did not give your consent").waitFor();
    const waited = await app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=5`);
    expect(waited.body).toMatchObject({
      status: "denied",
      detail: expect.stringContaining("access_denied"),
    });
  }, 60_000);

  it("cannot be framed or driven by another site's page", async () => {
    const { app } = open;
    const page = await browser.newPage();
    const pending = await startConsent(app, { force_new: true });
    const state = new URL(pending.url).searchParams.get("state")!;
    const body = `<iframe src="${callbackUri(app.url, "test")}"></iframe>`;
    await page.route("http://other.example/**", (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto("http://other.example/");
    expect(await page.frames()[1]?.locator("#title").count()).toBe(0);
    const outcome = await page.evaluate(
      async ([target, sent]) => {
        try {
          const headers = { "content-type": "application/json" };
          const answer = await fetch(target!, {
            method: "POST",
            headers,
            body: JSON.stringify({ state: sent, code: "x" }),
          });
          return String(answer.status);
        } catch {
          return "blocked";
        }
      },
      [`${app.url}/v2/auth/callback/test`, state],
    );
    expect(outcome).not.toBe("200");
    const waited = await app.call("GET", `/v2/auth/wait/${pending.auth_id}?timeout=0`);
    expect(waited.body).toEqual({ status: "pending" });
  }, 60_000);
});
