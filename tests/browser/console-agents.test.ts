import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

async function newThread(): Promise<string> {
  const { body } = await running.app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
  return body.thread_id;
}

const openThread = (threadId: string, more = "") =>
  running.open(`/agents/built-in/threads/${threadId}${more}`);

const composer = (page: ConsolePage) => page.page.getByRole("textbox", { name: "Message" });

async function say(page: ConsolePage, assistant: string, words: string): Promise<void> {
  await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: assistant });
  await composer(page).fill(words);
  await page.page.keyboard.press("Enter");
}

const messages = (page: ConsolePage) => page.page.getByRole("log", { name: "Messages" });

describe("a thread", () => {
  it("is begun from the list, talked to, and found again by what was said", async () => {
    const page = await running.open("/agents");
    await page.page.getByRole("link", { name: "Built-in agents" }).click();
    await page.button("New thread").click();
    await page.text("Nothing was said yet").waitFor();
    await say(page, "agent", "What is 12 * 7?");
    await messages(page).getByText("84").last().waitFor();
    await page.text("Working…").waitFor({ state: "detached" });
    expect(await page.violations()).toEqual([]);

    await page.page.getByRole("link", { name: "Built-in agents" }).click();
    await page.page.getByRole("link", { name: "What is 12 * 7?" }).waitFor();
    await page.page.getByRole("combobox", { name: "Status" }).selectOption("busy");
    await page.text("No thread is like that").waitFor();
    expect(page.path).toContain("status=busy");
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("takes another assistant, which stops to ask, and goes on when one approves", async () => {
    const page = await openThread(await newThread());
    await say(page, "echo", "hello there");
    await messages(page).getByRole("article").nth(1).getByText("hello there").waitFor();
    await say(page, "approval", "Delete the old backups");
    await page.text("May I do this: Delete the old backups?").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Approve").click();
    await messages(page).getByText("Done, with your approval: Delete the old backups").waitFor();
    expect(await messages(page).getByRole("article").count()).toBe(4);

    await page.page.getByRole("link", { name: "Runs" }).click();
    await page.page.getByRole("listitem").filter({ hasText: "echo" }).getByText("Success").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("shows in a second tab what the first one starts, while it happens", async () => {
    const threadId = await newThread();
    const [first, second] = await Promise.all([openThread(threadId), openThread(threadId)]);
    await second.text("Nothing was said yet").waitFor();
    await say(first, "agent", "Research the history of the loom");
    await second.text("Working…").waitFor();
    // A reload in the middle shows the whole answer, too.
    await second.page.reload();
    await second.text("Working…").waitFor({ state: "detached" });
    await first.text("Working…").waitFor({ state: "detached" });
    await expect
      .poll(async () => (await messages(second).innerText()) === (await messages(first).innerText()))
      .toBe(true);
    expect(await messages(first).getByRole("article").count()).toBeGreaterThan(1);
  });

  it("can be stopped", async () => {
    const page = await openThread(await newThread());
    await say(page, "agent", "Research the history of the loom");
    await page.button("Stop").click();
    await page.text("Working…").waitFor({ state: "detached" });
    await page.button("Stop").waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });

  it("goes back in time, branches from there, and replays a step", async () => {
    const threadId = await newThread();
    const page = await openThread(threadId);
    await say(page, "echo", "first");
    await messages(page).getByRole("article").nth(1).waitFor();
    await say(page, "echo", "second");
    await messages(page).getByRole("article").nth(3).waitFor();

    const steps = page.page.locator(".checkpoints li");
    await steps.filter({ hasText: "Done" }).nth(1).getByRole("link").click();
    await page.text("This is how it was.").waitFor();
    expect(await messages(page).getByRole("article").count()).toBe(2);
    expect(await page.violations()).toEqual([]);
    await composer(page).fill("another second");
    await page.button("Send from here").click();
    await messages(page).getByText("another second").nth(1).waitFor();
    expect(await messages(page).innerText()).not.toMatch(/^second$/m);

    await steps.filter({ hasText: "Before" }).first().getByRole("link").click();
    await page.button("Replay from here").click();
    await page.text("This is how it was.").waitFor({ state: "detached" });
    await expect
      .poll(async () => {
        const runs = await running.app.call<{ status: string }[]>("GET", `/threads/${threadId}/runs`);
        return runs.body.map(({ status }) => status);
      })
      .toEqual(["success", "success", "success", "success"]);
    expect(page.errors).toEqual([]);
  });

  it("takes any JSON as input, and says when it is not JSON", async () => {
    const page = await openThread(await newThread());
    await page.button("JSON").click();
    await page.field("Input as JSON").fill("{messages: 1}");
    await page.text("This is not JSON yet").waitFor();
    await page.field("Input as JSON").fill('{"messages": [{"role": "user", "content": "from JSON"}]}');
    await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "echo" });
    await page.button("Send").click();
    await messages(page).getByText("from JSON").nth(1).waitFor();
  });

  it("is deleted after a question", async () => {
    const threadId = await newThread();
    const page = await openThread(threadId);
    await page.button("Delete this thread").click();
    await page.button("Delete the thread").click();
    await page.heading("Built-in agents").waitFor();
    expect((await running.app.call("GET", `/threads/${threadId}`)).status).toBe(404);
  });
});

it("says that a thread is not there", async () => {
  const page = await openThread("00000000-0000-4000-8000-000000000000");
  await page.page.getByRole("heading", { name: "Not found" }).waitFor();
  expect(await page.violations()).toEqual([]);
});

it("fits a phone, in the dark", async () => {
  const threadId = await newThread();
  const page = await running.open(`/agents/built-in/threads/${threadId}`, {
    viewport: phone,
    colorScheme: "dark",
  });
  await say(page, "echo", "a word ".repeat(60));
  await messages(page).getByRole("article").nth(1).waitFor();
  expect(await page.violations()).toEqual([]);
  expect(await page.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(phone.width);
});
