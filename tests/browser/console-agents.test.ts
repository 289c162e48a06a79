import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
  // For what is to be seen, or stopped, while it happens.
  await running.app.call("POST", "/assistants", {
    body: { graph_id: "agent", name: "slow agent", context: { token_delay_ms: 40 } },
  });
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
    await say(page, "agent", "What is 12 * 7?");
    await messages(page).getByText("84").last().waitFor();
    await page.text("Working…").waitFor({ state: "detached" });
    expect(await page.violations()).toEqual([]);

    await page.page.getByRole("link", { name: "Built-in agents" }).click();
    await page.page.getByRole("link", { name: "What is 12 * 7?" }).waitFor();
    await page.page.getByRole("combobox", { name: "Status" }).selectOption("busy");
    await page.text("No threads match").waitFor();
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
    await page.page.getByRole("button", { name: "Approve", exact: true }).click();
    await messages(page).getByText("Done, with your approval: Delete the old backups").waitFor();
    expect(await messages(page).getByRole("article").count()).toBe(4);

    await page.page.getByRole("link", { name: "Runs" }).click();
    await page.page.getByRole("listitem").filter({ hasText: "echo" }).getByText("Success").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("shows in a second tab what the first one starts, while it happens", async () => {
    const threadId = await newThread();
    const [first, second] = await Promise.all([openThread(threadId), openThread(threadId)]);
    await second.text("No messages yet").waitFor();
    await say(first, "slow agent", "Research the history of the loom");
    await second.text("Working…").waitFor();
    // A reload in the middle shows the whole answer, too.
    await second.page.reload();
    const said = (page: ConsolePage) => messages(page).locator(":scope > article").allInnerTexts();
    await first.text("Working…").waitFor({ state: "detached" });
    await expect.poll(() => said(second), { timeout: 30_000 }).toEqual(await said(first));
    expect((await said(first)).length).toBeGreaterThan(1);
  });

  it("shows that a run is over also where the news of it came before one listened", async () => {
    const threadId = await newThread();
    await running.app.call("POST", `/threads/${threadId}/runs`, {
      body: { assistant_id: "agent", input: { messages: [{ type: "human", content: "What is 6 * 7?" }] } },
    });
    const page = await running.open("/agents");
    await page.page.route("**/stream?stream_modes=lifecycle", () => {});
    await page.visit(`/agents/built-in/threads/${threadId}`);
    await messages(page).getByText("42").last().waitFor();
    await page.text("Working…").waitFor({ state: "detached" });
  });

  it("shows words as they come, and those of a subagent apart from the conversation", async () => {
    const page = await openThread(await newThread());
    await say(page, "slow agent", "Research the history of the loom");
    // Each is several tokens long: seen whole only when the pieces were joined.
    const inner = page.page.locator(".inner-talk", { hasText: "I was asked to research" });
    await inner.waitFor();
    expect(await page.violations()).toEqual([]);
    expect(await messages(page).locator("> article", { hasText: "I was asked to research" }).count()).toBe(0);
    await page.text("Working…").waitFor({ state: "detached" });
    expect(await messages(page).getByRole("article").count()).toBe(4);
    expect(page.errors).toEqual([]);
  });

  it("can be stopped", async () => {
    const page = await openThread(await newThread());
    await say(page, "slow agent", "Research the history of the loom");
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
    await page.text("This is an earlier state.").waitFor();
    expect(await messages(page).getByRole("article").count()).toBe(2);
    expect(await page.violations()).toEqual([]);
    await composer(page).fill("another second");
    await page.button("Send from here").click();
    await messages(page).getByText("another second").nth(1).waitFor();
    expect(await messages(page).innerText()).not.toMatch(/^second$/m);

    await steps.filter({ hasText: "Before" }).first().getByRole("link").click();
    await page.button("Replay from here").click();
    await page.text("This is an earlier state.").waitFor({ state: "detached" });
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

describe("a step of a thread", () => {
  const steps = (page: ConsolePage) => page.page.locator(".checkpoints > li");
  const changes = (page: ConsolePage) => page.page.getByRole("list", { name: "What changed" });

  it("shows which node changed what", async () => {
    const page = await openThread(await newThread());
    await say(page, "approval", "Delete the old backups");
    await page.text("May I do this").waitFor();
    await changes(page).getByText("action", { exact: true }).waitFor();
    await changes(page).getByText("by propose").first().waitFor();
    expect(await page.violations()).toEqual([]);
    await steps(page).filter({ hasText: "Before propose" }).getByRole("link").click();
    await changes(page).getByRole("article").getByText("Delete the old backups").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("is edited, which begins a branch, and goes on from there", async () => {
    const page = await openThread(await newThread());
    await say(page, "echo", "first");
    await messages(page).getByRole("article").nth(1).waitFor();
    await steps(page).filter({ hasText: "Before echo" }).getByRole("link").click();
    await page.link("State").click();
    await page.button("Edit the values").click();
    const values = page.field("Values");
    await values.fill("{ no");
    await page.text("This is not JSON yet").waitFor();
    await values.fill(
      JSON.stringify({ messages: [{ type: "human", id: "edited", content: "another first" }] }),
    );
    await page.field("As if this node had returned it").selectOption("__start__");
    expect(await page.violations()).toEqual([]);
    await page.button("Fork from here").click();
    await page.page.getByRole("heading", { name: "Stopped before echo" }).waitFor();
    await page.button("Continue").click();
    await messages(page).getByRole("article").nth(1).getByText("another first").waitFor();
    expect(await messages(page).getByRole("article").count()).toBe(2);
    // Two branches: the end of the one that was left is marked.
    await page.text("end of a branch").waitFor();
    expect(await steps(page).first().locator(".branch-lines").getAttribute("width")).toBe("36");
    expect(page.errors).toEqual([]);
  });

  it("is answered with changes, and a whole run is run again", async () => {
    const threadId = await newThread();
    const page = await openThread(threadId);
    await say(page, "approval", "Delete the old backups");
    await page.page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.field("Arguments of act").fill('{"action": "Move the old backups"}');
    expect(await page.violations()).toEqual([]);
    await page.button("Approve with these changes").click();
    await messages(page).getByText("Done, with your approval: Move the old backups").waitFor();

    await page.link("Runs").click();
    await page.button("Run again").last().click();
    await page.text("May I do this: Delete the old backups?").waitFor();
    await page.page.getByRole("button", { name: "Reject", exact: true }).click();
    await page.field(/^Why/).fill("not today");
    await page.button("Send the rejection").click();
    await messages(page).getByText("Not done: Delete the old backups was rejected (not today).").waitFor();
    expect(page.errors).toEqual([]);
  });

  it("begins with a form of the graph's own fields", async () => {
    const page = await openThread(await newThread());
    await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "approval" });
    await page.button("Form").click();
    await page.field(/^messages/).fill("Delete the old backups");
    await page.field(/^note/).fill("written in a form");
    expect(await page.violations()).toEqual([]);
    await page.button("Send").click();
    await page.text("May I do this: Delete the old backups?").waitFor();
    expect(page.errors).toEqual([]);
  });
});

/** As a person does who has no mouse. */
async function tabTo(page: ConsolePage, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    await page.page.keyboard.press("Tab");
    if (await isFocused(wanted)) return;
  }
  throw new Error(`Tab does not lead to ${wanted}`);
}

const isFocused = async (wanted: Locator) =>
  (await wanted.and(wanted.page().locator(":focus")).count()) === 1;

it("the keyboard alone begins a thread, answers and forks, and is never thrown back to the top", async () => {
  const page = await running.open("/agents/built-in");
  const { keyboard } = page.page;
  const talk = page.page.getByRole("region", { name: "Conversation" });
  await tabTo(page, page.button("New thread"));
  await keyboard.press("Enter");
  await composer(page).waitFor();
  await expect.poll(() => isFocused(composer(page)), { timeout: 30_000 }).toBe(true);
  await tabTo(page, page.page.getByRole("combobox", { name: "Assistant" }));
  await keyboard.type("approval");
  await tabTo(page, composer(page));
  await keyboard.type("Delete the old backups");
  await keyboard.press("Enter");
  await tabTo(page, page.page.getByRole("button", { name: "Approve", exact: true }));
  await keyboard.press("Enter");
  await messages(page).getByText("Done, with your approval").waitFor();
  await expect.poll(() => isFocused(talk), { timeout: 30_000 }).toBe(true);

  const asked = page.page.getByRole("listitem").filter({ hasText: "Waits in" }).getByRole("link");
  await tabTo(page, asked);
  await keyboard.press("Enter");
  await page.text("This is an earlier state.").waitFor();
  await tabTo(page, page.link("State"));
  await keyboard.press("Enter");
  await tabTo(page, page.button("Edit the values"));
  await keyboard.press("Enter");
  const values = page.field("Values");
  await values.waitFor();
  expect(await isFocused(values)).toBe(true);
  const edited = (await values.inputValue()).replace("old backups", "oldest backup");
  await keyboard.press("ControlOrMeta+A");
  await keyboard.insertText(edited);
  await tabTo(page, page.button("Fork from here"));
  await keyboard.press("Enter");
  await messages(page).getByText("Delete the oldest backup").waitFor();
  await expect.poll(() => isFocused(talk), { timeout: 30_000 }).toBe(true);
  expect(page.errors).toEqual([]);
});

describe("an assistant", () => {
  it("is made with a form of its graph's settings, changed, and set back to an earlier version", async () => {
    const page = await running.open("/agents/built-in?tab=assistants");
    await page.link("New assistant").click();
    await page.field("Graph").selectOption("agent");
    await page.button("Make the assistant").click();
    await page.text("An assistant needs a name.").waitFor();
    await page.page.getByLabel("Name", { exact: true }).fill("Librarian");
    await page.field(/^token_delay_ms/).fill("5000");
    await page.button("Make the assistant").click();
    await page.text("At most 1000.").waitFor();
    await page.field(/^token_delay_ms/).fill("1");
    await page.field(/^reasoning/).selectOption("never");
    expect(await page.violations()).toEqual([]);
    await page.button("Make the assistant").click();

    await page.heading("Librarian").waitFor();
    await page.field(/^reasoning/).selectOption("always");
    await page.button("Save as a new version").click();
    await page.text("Saved as version 2.").waitFor();
    await page.link("Versions").click();
    const second = page.page.getByRole("listitem").filter({ hasText: "Version 2" });
    await second.getByText("context.reasoning").waitFor();
    await second.getByText("“never”").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Use version 1").click();
    await page.text("Version 1 runs from now on.").waitFor();
    const { body } = await running.app.call<{ name: string; context: object }[]>(
      "POST",
      "/assistants/search",
      { body: { name: "Librarian" } },
    );
    expect(body).toMatchObject([{ context: { reasoning: "never", token_delay_ms: 1 } }]);

    await page.link("Graph").click();
    await page.page.getByRole("group", { name: "Graph of Librarian" }).waitFor();
    await page.button("Delete this assistant").click();
    await page.button("Delete the assistant").click();
    await page.heading("Built-in agents").waitFor();
    expect(page.errors).toEqual([]);
  });
});

it("two threads get one input, each from its own assistant", async () => {
  const page = await running.open("/agents/built-in/compare");
  await page.button("Start two new threads").click();
  await page.field("Assistant on the left").selectOption({ label: "echo" });
  await page.field("Assistant on the right").selectOption({ label: "approval" });
  await composer(page).fill("Move the archive");
  await page.button("Send to both").click();
  const side = (name: string) => page.page.getByRole("region", { name: `Conversation on the ${name}` });
  await side("left").getByRole("article").nth(1).getByText("Move the archive").waitFor();
  await side("right").getByText("May I do this: Move the archive?").waitFor();
  expect(await page.violations()).toEqual([]);
  await page.link("Open the thread").first().click();
  await page.button("Compare with a copy").click();
  await side("right").getByText("Move the archive").first().waitFor();
  expect(page.errors).toEqual([]);
});

it("threads are found by what was said, and by their metadata", async () => {
  const { body } = await running.app.call<{ thread_id: string }>("POST", "/threads", {
    body: { metadata: { user: "ann" } },
  });
  await running.app.call("POST", `/threads/${body.thread_id}/runs/wait`, {
    body: { assistant_id: "echo", input: { messages: [{ role: "user", content: "a zebrafish swims" }] } },
  });
  const page = await running.open("/agents/built-in");
  const search = page.page.getByRole("searchbox");
  await search.fill("ZEBRAFISH");
  const rows = page.page.getByRole("table", { name: "Threads" }).locator("tbody tr");
  await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(1);
  await page.field("Metadata").fill("user=bob");
  await page.text("No threads match").waitFor();
  await page.field("Metadata").fill("user");
  await page.text("Write user as key=value.").waitFor();
  expect(await page.violations()).toEqual([]);
  await page.field("Metadata").fill("user=ann");
  await page.link("a zebrafish swims").waitFor();
  expect(page.path).toContain("search=ZEBRAFISH");
  expect(page.errors).toEqual([]);
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
