import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type ConsolePage,
  phone,
  type RunningConsole,
  startConsole,
  zoomed,
} from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

let running: RunningConsole;
/** Of each built-in graph one thread; the one of `approval` waits for an answer. */
const threads = new Map<string, string>();

beforeAll(async () => {
  running = await startConsole();
  for (const assistant of ["agent", "approval"]) {
    const { body } = await running.app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
    const input = { messages: [{ role: "user", content: "Research the history of the loom" }] };
    await running.app.call("POST", `/threads/${body.thread_id}/runs/wait`, {
      body: { assistant_id: assistant, input },
    });
    threads.set(assistant, body.thread_id);
  }
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

const threadPath = (assistant: string) => `/agents/built-in/threads/${threads.get(assistant)}`;
const graph = (page: ConsolePage) => page.page.getByRole("group", { name: /^Graph of / });
const unseen = async (page: ConsolePage) => (await page.tabThrough()).filter(({ seen }) => !seen);

/** The page with its graph, its history and what is written in. */
async function openStudio(assistant: string, options = {}): Promise<ConsolePage> {
  const page = await running.open(threadPath(assistant), options);
  await graph(page).getByRole("button").first().waitFor();
  await page.page.locator(".checkpoints li").first().waitFor();
  await page.page.getByRole("textbox", { name: "Message" }).waitFor();
  return page;
}

describe("the studio by keyboard alone", () => {
  it("shows whatever has the focus, also the nodes of a graph that is larger than its frame", async () => {
    const page = await openStudio("agent");
    for (let times = 0; times < 5; times++) await page.button("Zoom in").click();
    const frame = (await graph(page).boundingBox())!;
    const below = await graph(page)
      .getByRole("button")
      .evaluateAll(
        (nodes, end) => nodes.filter((node) => node.getBoundingClientRect().top > end).length,
        frame.y + frame.height,
      );
    expect(below).toBeGreaterThan(0);
    const visited = await page.tabThrough();
    expect(visited.filter(({ seen }) => !seen)).toEqual([]);
    // As they are read, from above.
    const nodes = visited.map(({ name }) => name.split(/[ ,]/)[0]);
    expect(nodes.indexOf("agent")).toBeGreaterThan(0);
    expect(nodes.indexOf("agent")).toBeLessThan(nodes.indexOf("researcher"));
    expect(page.errors).toEqual([]);
  });

  it("chooses a node, leaves it with Escape, and shows which one has the focus", async () => {
    const page = await openStudio("approval");
    const toolbar = page.page.getByRole("toolbar", { name: /^Breakpoints of / });
    await graph(page).focus();
    await page.page.keyboard.press("Tab");
    await page.page.keyboard.press("Space");
    await toolbar.waitFor();
    // Its own two buttons come first.
    for (let times = 0; times < 3; times++) await page.page.keyboard.press("Tab");
    // The one that is chosen looks other than the one that has the focus.
    const outlines = await page.page.evaluate<string[]>(
      '[...document.querySelectorAll(".graph-node")].slice(0, 2).map((node) => getComputedStyle(node).outlineStyle)',
    );
    expect(outlines).toEqual(["none", "solid"]);
    await page.page.keyboard.press("Escape");
    await toolbar.waitFor({ state: "detached" });
    expect(page.errors).toEqual([]);
  });
});

it.each([
  ["zooms the graph where the page cannot scroll", {}, false],
  ["scrolls the page at 200 % zoom", zoomed, true],
] as const)("the wheel %s", async (_, options, scrollsPage) => {
  const page = await openStudio("agent", options);
  await graph(page).hover();
  const scrolled = () => page.page.locator("main").evaluate((main) => main.scrollTop);
  const drawn = () => graph(page).locator(":scope > svg").getAttribute("style");
  const before = { scrolled: await scrolled(), drawn: await drawn() };
  await page.page.mouse.wheel(0, 120);
  if (scrollsPage) await expect.poll(scrolled, { timeout: 20_000 }).toBeGreaterThan(before.scrolled);
  else await expect.poll(drawn, { timeout: 20_000 }).not.toBe(before.drawn);
  expect({ page: (await scrolled()) !== before.scrolled, graph: (await drawn()) !== before.drawn }).toEqual({
    page: scrollsPage,
    graph: !scrollsPage,
  });
});

describe.each([
  ["at 200 % zoom", zoomed],
  ["on a phone", { viewport: phone }],
  ["on a phone in the dark", { viewport: phone, colorScheme: "dark" as const }],
  ["in the dark", { colorScheme: "dark" as const }],
])("the studio %s", (_, options) => {
  it("hides nothing that has the focus, and nothing sticks out", async () => {
    const page = await openStudio("approval", options);
    expect(await unseen(page)).toEqual([]);
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    // A form is higher than a line of words.
    await page.button("Form").click();
    await page.field(/^note/).waitFor();
    expect(await unseen(page)).toEqual([]);
    for (const panel of ["State", "Runs"]) {
      await page.link(panel).click();
      await page.settled();
      expect(await unseen(page)).toEqual([]);
      expect(await page.violations()).toEqual([]);
    }
    expect(await page.overflowing()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("compares a thread with its copy, both with the assistant that ran", async () => {
    const page = await openStudio("approval", options);
    await page.button("Compare with a copy").click();
    await page.page
      .getByRole("region", { name: "Conversation on the right" })
      .getByText("loom")
      .first()
      .waitFor();
    for (const side of ["left", "right"]) {
      const chosen = page.field(`Assistant on the ${side}`).locator("option:checked");
      expect([side, await chosen.textContent()]).toEqual([side, "approval"]);
    }
    expect(await unseen(page)).toEqual([]);
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    // Nobody reads two columns of a phone.
    const widths = await page.page
      .locator(".compare-column")
      .evaluateAll((columns) => columns.map((column) => column.getBoundingClientRect().width));
    expect(Math.min(...widths)).toBeGreaterThan(250);
    expect(page.errors).toEqual([]);
  });
});
