import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ChatPage, openChatPages } from "../support/chat-page.ts";
import { createChatServer } from "../support/chat-server.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

type Pages = Awaited<ReturnType<typeof openChatPages>>;
type Server = Awaited<ReturnType<Awaited<ReturnType<typeof createChatServer>>["listen"]>>;

let pages: Pages;
let server: Server;
/** One whose answers take seconds, for what is done in the middle of them. */
let slowServer: Server;

beforeAll(async () => {
  pages = await openChatPages();
  const { pageFolder } = pages;
  server = await (await createChatServer({ tokenDelayMs: 2, pageFolder })).listen();
  slowServer = await (await createChatServer({ tokenDelayMs: 40, pageFolder })).listen();
});

afterEach(() => pages.closeAll());

afterAll(async () => {
  await server?.stop();
  await slowServer?.stop();
  await pages?.stop();
});

const open = () => pages.open(server.url);
const openSlow = () => pages.open(slowServer.url);

describe("a conversation", () => {
  it("shows tools with their arguments and results, and thoughts that unfold", async () => {
    const chat = await open();
    await chat.say("Calculate (3 + 4) * 12");
    await chat.answered("84");
    const tool = chat.page.locator(".tool", { hasText: "calculate" });
    expect(await tool.locator(".status").textContent()).toBe("done");
    await tool.getByRole("button").click();
    expect(await tool.locator("pre").textContent()).toContain('"expression": "(3 + 4) * 12"');
    expect(await tool.locator(".prose").textContent()).toContain("84");
    await chat.button("Thought it over").first().click();
    expect(await chat.page.locator(".reasoning-text").first().textContent()).toContain("calculate");
    expect(chat.errors).toEqual([]);
  });

  it("streams a subagent in a card of its own, beside the main answer", async () => {
    const chat = await openSlow();
    await chat.say("Research durable execution");
    const card = chat.page.getByRole("region", { name: "Subagent researcher" });
    // While it works: its own tool call is there before the main answer has begun.
    await card.locator(".tool", { hasText: "search_notes" }).waitFor();
    expect(await chat.page.locator(".strand > .text").count()).toBe(0);
    await chat.answered("In short:");
    expect(await card.locator(".status").first().textContent()).toBe("done");
    // After a reload it is read from the thread's checkpoints.
    await chat.page.reload();
    await card.getByRole("button").first().click();
    await card.locator(".tool", { hasText: "search_notes" }).waitFor();
    expect(chat.errors).toEqual([]);
  });

  it("draws Markdown and code, which can be copied", async () => {
    const chat = await open();
    await chat.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await chat.say("Explain how I choose a real model");
    await chat.answered("delete the test records");
    const code = chat.page.locator(".code-block");
    expect(await code.locator(".code-head").textContent()).toContain("ts");
    await code.getByRole("button", { name: "Copy" }).click();
    await code.getByText("Copied").waitFor();
    const copied = await chat.page.evaluate("navigator.clipboard.readText()");
    expect(copied).toContain("await client.runs.wait");
  });

  it("says nothing in HTML that a person wrote", async () => {
    const chat = await open();
    await chat.say("Hello <img src=x onerror=\"document.title='owned'\">");
    await chat.answered(/Hello/);
    expect(await chat.page.locator(".bubble img, .prose img").count()).toBe(0);
    expect(await chat.page.title()).not.toBe("owned");
  });

  it("stops when asked to, and goes on from there", async () => {
    const chat = await openSlow();
    await chat.say("Research durable execution vs streaming");
    await chat.page.locator(".subagent").first().waitFor();
    await chat.page.keyboard.press("Escape");
    await chat.page.getByText("Stopped before it was done").waitFor();
    await chat.button("Go on").click();
    await chat.answered("Here is what I found");
  });

  it("keeps a message that is written meanwhile, and sends it next", async () => {
    const chat = await openSlow();
    await chat.say("Research durable execution");
    await chat.page.locator(".subagent").waitFor();
    await chat.say("Calculate 5 * 5");
    await chat.page.getByText("Next: Calculate 5 * 5").waitFor();
    await chat.answered("25");
  });
});

describe("approval", () => {
  const ask = async (): Promise<ChatPage> => {
    const chat = await open();
    await chat.say("Delete the test records");
    await chat.page.getByText("Your approval is needed").waitFor();
    return chat;
  };

  it("waits, also after a reload, and acts when approved", async () => {
    const chat = await ask();
    expect(await chat.page.locator(".tool .status").textContent()).toBe("waits for you");
    await chat.page.reload();
    await chat.button("Approve").click();
    await chat.answered(/Approved: "Delete the test records"/);
    expect(await chat.page.locator(".approval").count()).toBe(0);
  });

  it("takes a change of the arguments", async () => {
    const chat = await ask();
    await chat.button("Edit").click();
    await chat.page.getByLabel("action").fill("delete one record");
    await chat.button("Approve the change").click();
    await chat.answered(/Approved: "delete one record"/);
  });

  it("takes a refusal with its reason", async () => {
    const chat = await ask();
    await chat.button("Reject").click();
    await chat.page.getByLabel("Reason (optional)").fill("too risky");
    await chat.button("Reject it").click();
    await chat.answered(/was rejected \(too risky\)/);
  });
});

describe("branches and the past", () => {
  it("begins a branch from an edited message and keeps the old one in the history", async () => {
    const chat = await open();
    await chat.say("Calculate 1 + 1");
    await chat.answered("The result is 2.");
    await chat.say("Calculate 2 + 2");
    await chat.answered("The result is 4.");
    await chat.page.locator(".from-human").first().hover();
    await chat.button("Edit").first().click();
    await chat.page.getByLabel("Edit your message").fill("Calculate 10 + 10");
    await chat.button("Send as a branch").click();
    await chat.answered("The result is 20.");
    expect(await chat.page.locator(".bubble").allTextContents()).toEqual(["Calculate 10 + 10"]);

    await chat.button("History").click();
    const old = chat.page.locator(".steps button", { hasText: "The result is 4" });
    await old.click();
    expect(await chat.page.locator(".bubble").allTextContents()).toEqual([
      "Calculate 1 + 1",
      "Calculate 2 + 2",
    ]);
    await chat.button("Back to now").click();
    expect(await chat.page.locator(".bubble").allTextContents()).toEqual(["Calculate 10 + 10"]);
    await old.click();
    await chat.button("Go on from here").click();
    await chat.page.locator(".bubble", { hasText: "Calculate 2 + 2" }).waitFor();
    await chat.say("Calculate 3 + 3");
    await chat.answered("The result is 6.");
    expect(await chat.page.locator(".bubble").count()).toBe(3);
  });

  it("changes the last message with the arrow key", async () => {
    const chat = await open();
    await chat.say("Calculate 1 + 1");
    await chat.answered("The result is 2.");
    await chat.field.press("ArrowUp");
    const editor = chat.page.getByLabel("Edit your message");
    await editor.fill("Calculate 6 * 7");
    await editor.press("Enter");
    await chat.answered("The result is 42.");
  });

  it("lets another assistant go on with the same thread", async () => {
    const chat = await open();
    await chat.say("Calculate 1 + 1");
    await chat.answered("The result is 2.");
    await chat.page.getByLabel("Assistant").selectOption("echo");
    await chat.say("say this back");
    await chat.page.locator(".from-assistant").nth(1).getByText("say this back").waitFor();
    await chat.idle();
    await chat.page.getByLabel("Assistant").selectOption("agent");
    await chat.say("What did we say so far?");
    await chat.answered("So far in this thread");
    await chat.answered("say this back");
  });
});

describe("the list of conversations", () => {
  it("switches, follows the address and deletes after asking", async () => {
    const chat = await open();
    await chat.say("Calculate 100 + 1");
    await chat.answered("101");
    await chat.button("New conversation").click();
    await chat.page.getByText("What shall we work on?").waitFor();
    await chat.say("Calculate 200 + 2");
    await chat.answered("202");
    await chat.threads.filter({ hasText: "Calculate 100 + 1" }).click();
    await chat.answers.getByText("101").last().waitFor();
    await chat.page.goBack();
    await chat.answers.getByText("202").last().waitFor();

    const rows = chat.threads.filter({ hasText: /Calculate \d00 \+ \d/ });
    expect(await rows.count()).toBe(2);
    await chat.button("Delete “Calculate 200 + 2”").click();
    await chat.button("Keep").click();
    expect(await rows.count()).toBe(2);
    await chat.button("Delete “Calculate 200 + 2”").click();
    await chat.page.getByRole("button", { name: "Delete", exact: true }).click();
    await chat.page.getByText("What shall we work on?").waitFor();
    await chat.threads.filter({ hasText: "Calculate 200 + 2" }).waitFor({ state: "detached" });
    expect(await rows.count()).toBe(1);
  });

  it("can be walked with the arrow keys, and / leads to the field", async () => {
    const chat = await open();
    await chat.say("Calculate 7 + 7");
    await chat.answered("14");
    await chat.threads.first().focus();
    await chat.page.keyboard.press("ArrowDown");
    expect(await chat.threads.nth(1).evaluate((row) => row === row.ownerDocument.activeElement)).toBe(true);
    await chat.page.keyboard.press("/");
    expect(await chat.field.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
  });
});
