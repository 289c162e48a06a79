import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ConsolePage, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

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

describe("the graph of a thread", () => {
  const node = (page: ConsolePage, name: string | RegExp) =>
    page.page.getByRole("group", { name: /^Graph of / }).getByRole("button", { name });

  /** Every node that is lit at any moment, however late this test looks. */
  const watchLit = (page: ConsolePage) =>
    page.page.evaluate(`
      globalThis.lit = new Set();
      new MutationObserver(() => {
        for (const node of document.querySelectorAll(".graph-node.running"))
          lit.add(node.getAttribute("aria-label").split(/[ ,]/)[0]);
      }).observe(document.querySelector(".graph-frame"), { subtree: true, attributes: true });
    `);

  it("is drawn with its subgraphs, lights up, and shows what each node took", async () => {
    const page = await openThread(await newThread());
    await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "slow agent" });
    const graph = page.page.getByRole("group", { name: "Graph of slow agent" });
    await graph.getByRole("button", { name: "researcher" }).waitFor();
    await watchLit(page);
    await composer(page).fill("Research the history of the loom");
    await page.page.keyboard.press("Enter");
    await page.text("Working…").waitFor();
    await page.text("Working…").waitFor({ state: "detached" });
    await node(page, /^agent ×2 .+ · \d+ tokens, has run$/).waitFor();
    await node(page, /^researcher ×2 .*\d+ tokens, has run$/).waitFor();
    const lit = await page.page.evaluate<string[]>("[...lit]");
    expect(lit).toEqual(expect.arrayContaining(["agent", "researcher"]));
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("lights up also for a run whose events name no nodes", async () => {
    const threadId = await newThread();
    const page = await openThread(threadId);
    await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "slow agent" });
    await node(page, "agent").waitFor();
    await watchLit(page);
    const { body: assistants } = await running.app.call<{ assistant_id: string }[]>(
      "POST",
      "/assistants/search",
      { body: { name: "slow agent" } },
    );
    await running.app.call("POST", `/threads/${threadId}/runs`, {
      body: {
        assistant_id: assistants[0]!.assistant_id,
        input: { messages: [{ role: "user", content: "Research the history of the loom" }] },
        // With messages the model answers word by word, which takes its time.
        stream_mode: ["values", "messages-tuple"],
      },
    });
    await node(page, /^agent.*, running$/).waitFor();
    await node(page, /^agent ×2 .*has run$/).waitFor({ timeout: 60_000 });
    expect(await page.page.evaluate<string[]>("[...lit]")).toContain("agent");
    expect(page.errors).toEqual([]);
  });

  it("has breakpoints, by keyboard alone: the run stops there, goes one step, and on to its end", async () => {
    const page = await openThread(await newThread());
    await page.page.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "approval" });
    await node(page, "act").focus();
    await page.page.keyboard.press("Enter");
    await page.button("Stop before").waitFor();
    const press = async (keys: string) => {
      await page.page.keyboard.press(keys);
      return page.page.evaluate<string>(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText",
      );
    };
    // The toolbar of the chosen node comes right after it, and the next stop in the graph after that.
    expect(await press("Tab")).toBe("Stop before");
    await page.page.keyboard.press("Enter");
    await node(page, "act, stops before").waitFor();
    expect(await press("Tab")).toBe("Stop after");
    const after = await press("Tab");
    expect(after).not.toMatch(/^Stop/);
    expect(await press("Shift+Tab")).toBe("Stop after");
    expect(await press("Shift+Tab")).toBe("Stop before");
    expect(await press("Shift+Tab")).toBe("act, stops before");
    // Once the graph is left, the toolbar does not come a second time.
    await press("Tab");
    await press("Tab");
    const rest: string[] = [];
    for (let seen = await press("Tab"); rest.length < 12; seen = await press("Tab")) rest.push(seen);
    expect(rest[0]).toBe(after);
    expect(rest.filter((name) => /^Stop (before|after)$/.test(name))).toEqual([]);
    expect(page.path).toContain("stop_before=act");
    await say(page, "approval", "Delete the old backups");
    await page.text("May I do this").waitFor();
    await page.page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.page.getByRole("heading", { name: "Stopped before act" }).waitFor();
    await node(page, "act, runs next, stops before").waitFor();
    expect(await page.violations()).toEqual([]);
    await page.button("Continue").click();
    await messages(page).getByText("Done, with your approval").waitFor();

    await page.visit(`${page.path.split("?")[0]}?stop_after=propose`);
    await say(page, "approval", "Move the archive");
    await page.page.getByRole("heading", { name: "Stopped before approve" }).waitFor();
    await page.button("One step").click();
    await page.text("May I do this: Move the archive?").waitFor();
    expect(page.errors).toEqual([]);
  });
});
