import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestApp } from "../support/app.ts";
import { openChatPages } from "../support/chat-page.ts";
import { createChatServer } from "../support/chat-server.ts";
import { signInBrowser } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

type Pages = Awaited<ReturnType<typeof openChatPages>>;

let pages: Pages;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  pages = await openChatPages();
});

afterEach(async () => {
  await pages.closeAll();
  for (const stop of stops.splice(0)) await stop();
});

afterAll(() => pages?.stop());

/** Slow enough that things can happen in the middle of an answer. */
async function start(port = 0, tokenDelayMs = 40) {
  const server = await (await createChatServer({ tokenDelayMs, pageFolder: pages.pageFolder })).listen(port);
  stops.push(server.stop);
  return server;
}

describe("a reload in the middle of an answer", () => {
  it("shows what was streamed and goes on with the rest", async () => {
    const server = await start();
    const chat = await pages.open(server.url);
    await chat.say("Research durable execution");
    await chat.page.locator(".subagent .tool", { hasText: "search_notes" }).waitFor();
    await chat.page.reload();
    await chat.page.locator(".subagent.running .tool", { hasText: "search_notes" }).waitFor();
    await chat.stop.waitFor();
    await chat.answered("In short:");
    expect(await chat.page.locator(".bubble").count()).toBe(1);
    expect(await chat.page.locator(".strand > .text").count()).toBe(1);
    expect(chat.errors).toEqual([]);
  });

  it("leaves the stop button working", async () => {
    const server = await start();
    const chat = await pages.open(server.url);
    await chat.say("Research durable execution");
    await chat.page.locator(".subagent").waitFor();
    await chat.page.reload();
    await chat.stop.click();
    await chat.page.getByText("Stopped before it was done").waitFor();
  });
});

describe("a restart of the server in the middle of an answer", () => {
  it("says that the conversation is gone and asks again in a new one", async () => {
    const server = await start();
    const chat = await pages.open(server.url);
    await chat.say("Research durable execution");
    await chat.page.locator(".subagent .tool").waitFor();
    await server.stop();
    stops.splice(0);
    await chat.page.getByText("The server does not respond").waitFor();
    // What was on the screen stays there.
    await chat.page.locator(".bubble", { hasText: "Research durable execution" }).waitFor();

    await start(server.port, 2);
    await chat.page.getByText("This conversation is gone").waitFor();
    expect(await chat.page.locator(".bubble").count()).toBe(1);
    await chat.button("Ask again in a new one").click();
    await chat.answered("In short:");
    expect(await chat.threads.count()).toBe(1);
    expect(chat.errors).toEqual([]);
  });

  it("says so for an address that leads nowhere", async () => {
    const server = await start();
    const chat = await pages.open(server.url);
    await chat.page.goto(`${server.url}/chat/example#/t/01999999-0000-7000-8000-000000000000`);
    await chat.page.getByText("This conversation is gone").waitFor();
    await chat.page.getByRole("button", { name: "New conversation" }).last().click();
    await chat.page.getByText("What shall we work on?").waitFor();
  });
});

describe("a connection that breaks for a moment", () => {
  it("loads what was missed", async () => {
    const server = await start(0, 2);
    const chat = await pages.open(server.url);
    await chat.say("Calculate 1 + 1");
    await chat.answered("The result is 2.");
    await chat.page.context().setOffline(true);
    await chat.page.getByText("The server does not respond").waitFor();
    const threadId = chat.page.url().split("/t/")[1]!;
    const body = {
      id: 1,
      method: "run.start",
      params: { assistant_id: "agent", input: { messages: [{ role: "user", content: "Calculate 6 * 7" }] } },
    };
    const headers = { "content-type": "application/json" };
    await fetch(`${server.url}/api/threads/${threadId}/commands`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    await chat.page.context().setOffline(false);
    await chat.answered("The result is 42.");
    await chat.page.getByText("The server does not respond").waitFor({ state: "detached" });
  });
});

describe("two tabs on one thread", () => {
  it("follow the same answer, and each other's messages", async () => {
    const server = await start();
    const first = await pages.open(server.url);
    await first.say("Research durable execution");
    await first.page.locator(".subagent").waitFor();
    const second = await first.secondTab();
    await second.page.locator(".subagent.running").waitFor();
    await Promise.all([first.answered("In short:"), second.answered("In short:")]);

    await second.say("Calculate 6 * 7");
    await Promise.all([second.answered("The result is 42."), first.answered("The result is 42.")]);
    await first.say("Delete the test records");
    await second.button("Approve").click();
    await Promise.all([
      first.answered(/Approved: "Delete the test records"/),
      second.answered(/Approved: "Delete the test records"/),
    ]);
    await first.page.locator(".approval").waitFor({ state: "detached" });
    expect(await first.page.locator(".bubble").allTextContents()).toEqual(
      await second.page.locator(".bubble").allTextContents(),
    );

    await first.button(/^Delete “/).click();
    await first.page.getByRole("button", { name: "Delete", exact: true }).click();
    await second.page.getByText("This conversation is gone").waitFor();
    expect([...first.errors, ...second.errors]).toEqual([]);
  });
});

describe("many tabs", () => {
  it("do not take all connections the browser has for one server", async () => {
    const server = await start(0, 2);
    const first = await pages.open(server.url);
    await first.say("Calculate 6 * 7");
    await first.answered("The result is 42.");
    for (let tabs = 2; tabs <= 4; tabs++) {
      const tab = await first.secondTab();
      await tab.say(`Calculate ${tabs} * 100`);
      await tab.answered(`The result is ${tabs}00.`);
      await tab.hide();
      // Asleep, it shows no conversation, and wakes up when it is looked at.
      await tab.field.waitFor({ state: "detached" });
    }
    await first.answered("The result is 400.");
  });
});

describe("a server that wants to know who is asking", () => {
  it("leads to the sign-in page and goes on with the session, without a key in the page", async () => {
    const app = await createTestApp({ agentAuthRequired: true });
    stops.push(app.stop);
    const url = await app.listen();
    const page = await pages.openOn(url);
    await page.page.getByRole("heading", { name: "Sign in first" }).waitFor();
    expect(await page.seriousViolations()).toEqual([]);
    const link = page.page.getByRole("link", { name: "Sign in" });
    expect(await link.getAttribute("href")).toBe("/sign-in?return_to=%2Fchat");
    await signInBrowser(page.page, url, app.apiKey);
    await page.page.reload();
    await page.say("Calculate 1 + 1");
    await page.answered("The result is 2.");
    expect(await page.page.evaluate("JSON.stringify(sessionStorage)")).not.toContain(app.apiKey);
  });
});
