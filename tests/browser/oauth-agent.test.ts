import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { introspect } from "../support/auth-service-app.ts";
import { callbackUri, clientId, clientSecret, providerBody } from "../support/auth-service-provider.ts";
import { type ChatPage, openChatPages } from "../support/chat-page.ts";
import { type OAuthServer, startOAuthServer } from "../support/components/oauth-server.ts";
import { tablesHolding } from "../support/database-text.ts";
import { keepLogs } from "../support/logged-lines.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 240_000 });

const password = randomBytes(8).toString("hex");
const sentence = "What is my account at Weaver?";

/** A whole server and a provider that shows its own pages. `closed` wants a key also on loopback. */
async function setStage(agentAuthRequired: boolean) {
  const logs = keepLogs();
  const app = await createTestApp({ agentAuthRequired }, { logger: logs.logger });
  const url = await app.listen();
  const server = await startOAuthServer({
    clients: [{ clientId, clientSecret, redirectUris: [callbackUri(url, "weaver")] }],
    accounts: [{ username: "ada", password, claims: { name: "Ada Lovelace", email: "ada@example.com" } }],
    interaction: "form",
  });
  const body = providerBody(server, { provider_id: "weaver", name: "Weaver" });
  expect((await app.call("POST", "/v2/auth/providers", { body })).status).toBe(200);
  return { app, url, server, logs };
}

type Stage = { app: TestApp; url: string; server: OAuthServer; logs: ReturnType<typeof keepLogs> };
let pages: Awaited<ReturnType<typeof openChatPages>>;
let open: Stage;
let closed: Stage;

beforeAll(async () => {
  pages = await openChatPages();
  open = await setStage(false);
  closed = await setStage(true);
});
afterEach(async () => {
  await pages.closeAll();
  for (const { app } of [open, closed]) {
    await app.call("DELETE", "/v2/auth/tokens?provider_id=weaver&force=true");
  }
});
afterAll(async () => {
  await pages?.stop();
  for (const stage of [open, closed]) {
    await stage?.app.stop();
    await stage?.server.stop();
  }
});

const card = (chat: ChatPage) => chat.page.getByRole("region", { name: "Connect your Weaver account" });

/** The provider's pages, in the tab that the card opens. */
async function goToProvider(chat: ChatPage): Promise<Page> {
  const [tab] = await Promise.all([
    chat.page.waitForEvent("popup"),
    card(chat)
      .getByRole("link", { name: /Weaver|again/ })
      .click(),
  ]);
  await tab.getByLabel("User name").fill("ada");
  await tab.getByLabel("Password").fill(password);
  await tab.getByRole("button", { name: "Sign in" }).click();
  return tab;
}

async function tokenOf({ app }: Stage): Promise<string> {
  const { body: agent } = await app.call<{ assistant_id: string }>("GET", "/assistants/agent");
  const body = { provider: "weaver", scopes: [], agent_id: agent.assistant_id };
  return (await app.call<{ token: string }>("POST", "/v2/auth/authenticate", { body })).body.token;
}

describe("an agent that needs a person's account", () => {
  it("shows a card, and answers by itself once the consent is given in the other tab", async () => {
    const { app, url, server, logs } = open;
    const chat = await pages.openOn(url);
    await chat.say(sentence);
    await card(chat).waitFor();
    expect(await card(chat).textContent()).toContain("openid");
    expect(await chat.seriousViolations()).toEqual([]);
    const tab = await goToProvider(chat);
    expect(await tab.evaluate("window.opener")).toBeNull();
    await tab.getByRole("button", { name: "Allow" }).click();
    await tab.getByRole("heading", { name: "Account connected" }).waitFor();
    await chat.answered("Ada Lovelace (ada@example.com)");
    expect(await card(chat).count()).toBe(0);
    const token = await tokenOf(open);
    expect(await introspect(server, token)).toMatchObject({ active: true, sub: "ada" });
    const threadId = chat.page.url().split("/t/")[1]!;
    const history = await app.call("POST", `/threads/${threadId}/history`, { body: { limit: 100 } });
    const stop = new AbortController();
    const events = await fetch(`${url}/threads/${threadId}/stream/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": app.apiKey },
      body: JSON.stringify({
        channels: ["values", "updates", "messages", "tools", "input", "lifecycle", "custom", "tasks"],
      }),
      signal: stop.signal,
    });
    let said = "";
    for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
      said += chunk;
      if (said.includes('"completed"') && said.includes("Ada Lovelace")) break;
    }
    stop.abort();
    const shown = (await chat.page.textContent("body")) ?? "";
    for (const place of [JSON.stringify(history.body), said, shown]) {
      expect(place).toContain("Ada Lovelace (ada@example.com)");
    }
    for (const place of [JSON.stringify(history.body), said, shown, await chat.page.content()]) {
      expect(place).not.toContain(token);
    }
    expect(logs.text()).not.toContain(token);
    expect(await tablesHolding(app.database, token)).toEqual([]);
    await chat.say("Use my Weaver account");
    await chat.answered("Ada Lovelace");
    expect(chat.errors).toEqual([]);
  });

  it("says so when the person refuses, asks again when they want, and takes a no", async () => {
    const chat = await pages.openOn(open.url);
    await chat.say(sentence);
    const tab = await goToProvider(chat);
    await tab.getByRole("button", { name: "Deny" }).click();
    await tab.getByText("You did not give your consent").waitFor();
    await card(chat).getByText("the consent was refused").waitFor();
    const before = await card(chat).getByRole("link").count();
    expect(before).toBe(0);
    await card(chat).getByRole("button", { name: "Ask me again" }).click();
    await card(chat).getByRole("link", { name: "Connect Weaver" }).waitFor();
    await card(chat).getByRole("button", { name: "Not now" }).click();
    await chat.answered("you did not connect your Weaver account");
    const open_ = await open.app.call("GET", "/v2/auth/authorizations");
    expect(open_.body).toEqual([]);
    expect(chat.errors).toEqual([]);
  });

  it("goes on in the tab where the person acted, also with a second one open on the conversation", async () => {
    const chat = await pages.openOn(open.url);
    await chat.say(sentence);
    await card(chat).waitFor();
    const second = await chat.secondTab();
    await card(second).waitFor();
    const tab = await goToProvider(chat);
    await tab.getByRole("button", { name: "Allow" }).click();
    await chat.answered("Ada Lovelace");
    await second.answered("Ada Lovelace");
    expect(await second.page.getByText("That did not work").count()).toBe(0);
    expect(await chat.page.getByText("That did not work").count()).toBe(0);
  });

  it("needs the key only once where the server wants one", async () => {
    const chat = await pages.openOn(closed.url, { apiKey: closed.app.apiKey });
    await chat.say(sentence);
    const tab = await goToProvider(chat);
    expect(await tab.evaluate("window.opener")).toBeNull();
    await tab.getByRole("button", { name: "Allow" }).click();
    await tab.getByRole("heading", { name: "Account connected" }).waitFor();
    await chat.answered("Ada Lovelace");
    expect(chat.errors).toEqual([]);
  });
});
