import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningConsole;
beforeAll(async () => {
  running = await startConsole();
  await ask("What is 12 * 7?");
});
afterEach(() => running?.closeAll());
afterAll(() => running?.stop());

/** A run of the built-in agent, and its trace in the project of the same name. */
async function ask(words: string): Promise<void> {
  const input = { messages: [{ role: "user", content: words }] };
  const { status } = await running.app.call("POST", "/runs/wait", { body: { assistant_id: "agent", input } });
  expect(status).toBe(200);
  // Traces are written a moment after the run.
  await vi.waitFor(
    async () => {
      const body = { session: [await projectId("agent")], is_root: true, filter: 'eq(status, "success")' };
      const found = await running.app.call<{ runs: unknown[] }>("POST", "/api/v1/runs/query", { body });
      expect(found.body.runs).toHaveLength(1);
    },
    { timeout: 30_000, interval: 200 },
  );
}

type Sent = Record<string, unknown> & { id: string };

async function send(project: string, runs: Sent[]): Promise<void> {
  for (let from = 0; from < runs.length; from += 500) {
    const post = runs.slice(from, from + 500).map((run) => ({ ...run, session_name: project }));
    const { status } = await running.app.call("POST", "/api/v1/runs/batch", { body: { post } });
    expect(status).toBe(202);
  }
}

function sample(agoMs: number, fields: Record<string, unknown> = {}): Sent {
  const start = Date.now() - agoMs;
  return {
    id: randomUUID(),
    name: "answer",
    run_type: "chain",
    start_time: new Date(start).toISOString(),
    end_time: new Date(start + 800).toISOString(),
    inputs: { question: "why?" },
    outputs: { answer: "because" },
    ...fields,
  };
}

async function projectId(name: string): Promise<string> {
  const { body } = await running.app.call<{ id: string }[]>("GET", `/api/v1/sessions?name=${name}`);
  return body[0]!.id;
}

const openProject = async (name: string, more = "") =>
  running.open(`/traces/${await projectId(name)}${more}`);
const table = (page: ConsolePage) => page.page.getByRole("table", { name: "Runs" });
const bodyRows = (page: ConsolePage) => table(page).locator(".runs-body-row");
const filter = (page: ConsolePage) => page.page.getByRole("combobox", { name: "Filter runs" });
const steps = (page: ConsolePage) => page.page.getByRole("treeitem");

describe("from the list of projects to one step", () => {
  it("shows the agent's numbers, its runs, their steps, messages and tool calls", async () => {
    const page = await running.open("/traces");
    await page.heading("Traces").waitFor();
    await page.link(/^agent$/).waitFor();
    await page.settled();
    expect(await page.violations()).toEqual([]);
    await page.link(/^agent$/).click();
    await page.heading("agent").waitFor();
    await bodyRows(page).first().locator(".runs-input", { hasText: "What is 12 * 7?" }).waitFor();
    await bodyRows(page).first().locator(".runs-output", { hasText: "84" }).waitFor();
    expect(await page.violations()).toEqual([]);
    await bodyRows(page).first().getByRole("link", { name: "agent" }).click();

    await steps(page).filter({ hasText: "calculate" }).first().waitFor();
    const detail = page.page.getByRole("region", { name: "Chosen step" });
    await detail.getByText("What is 12 * 7?").first().waitFor();
    await detail.getByText("84").first().waitFor();
    await detail.locator(".tool-call", { hasText: "calculate" }).first().waitFor();
    expect(await page.violations()).toEqual([]);

    await steps(page).filter({ hasText: "calculate" }).first().click();
    await detail.getByRole("heading", { name: "calculate" }).waitFor();
    expect(page.errors).toEqual([]);
  });

  it("opens a shared link to a step", async () => {
    const body = { session: [await projectId("agent")], run_type: "llm", limit: 1 };
    const { body: found } = await running.app.call<{ runs: { app_path: string; name: string }[] }>(
      "POST",
      "/api/v1/runs/query",
      { body },
    );
    const { app_path, name } = found.runs[0]!;
    const page = await running.open(app_path);
    await page.page.getByRole("region", { name: "Chosen step" }).getByRole("heading", { name }).waitFor();
    await steps(page).nth(2).waitFor();
    expect(await steps(page).and(page.page.locator("[aria-selected=true]")).count()).toBe(1);
    await page.link("Metadata").click();
    await page.text("Run id").waitFor();
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });

  it("says that a run is not there", async () => {
    const page = await running.open(`/traces/${randomUUID()}/r/${randomUUID()}`);
    await page.text(/not found in this workspace/).waitFor();
  });

  it("takes feedback, shows it and deletes it", async () => {
    const run = sample(1_000);
    await send("judged", [run]);
    const page = await running.open(`/traces/${await projectId("judged")}/r/${run.id}?show=feedback`);
    await page.text("This run has no feedback yet.").waitFor();
    await page.field(/^Score/).fill("0.5");
    await page.field(/^Comment/).fill("half right");
    expect(await page.violations()).toEqual([]);
    await page.button("Add feedback").click();
    await page.text("half right").waitFor();
    await page.button("Delete feedback correctness").click();
    await page.button("Delete it").click();
    await page.text("This run has no feedback yet.").waitFor();
    expect(page.errors).toEqual([]);
  });
});

describe("the list of runs", () => {
  it("shows what comes while one looks", async () => {
    await send("live", [sample(60_000, { name: "before" })]);
    const page = await openProject("live");
    await bodyRows(page).getByText("before").waitFor();
    await send("live", [sample(0, { name: "after", error: "it broke" })]);
    await bodyRows(page).getByText("after").waitFor();
    expect(await bodyRows(page).first().textContent()).toContain("it broke");
    expect(page.errors).toEqual([]);
  });

  it("scrolls through ten thousand runs with a screenful of them in the page", async () => {
    await send(
      "many",
      Array.from({ length: 10_000 }, (_, index) => sample(index * 1_000, { name: `run ${index}` })),
    );
    const page = await openProject("many");
    await bodyRows(page).first().waitFor();
    const scroll = page.page.getByRole("rowgroup", { name: "Runs, scrolls" });
    const foot = page.page.locator(".runs-foot");
    await vi.waitFor(
      async () => {
        await scroll.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        expect(await foot.textContent()).toBe("10,000 runs");
      },
      { timeout: 100_000, interval: 50 },
    );
    // The last page came after the last scroll.
    await scroll.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await bodyRows(page).getByText("run 9999", { exact: true }).waitFor();
    expect(await bodyRows(page).count()).toBeLessThan(100);
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});

describe("the filter", () => {
  beforeAll(() =>
    send("filtered", [
      sample(1_000, { name: "good", tags: ["blue"], extra: { metadata: { user: "ada" } } }),
      sample(2_000, { name: "bad", error: "it broke" }),
      sample(3_000, { name: "slow", end_time: new Date(Date.now() + 9_000).toISOString() }),
    ]),
  );
  const names = (page: ConsolePage) => bodyRows(page).locator(".runs-name").allTextContents();

  it("completes functions, fields and values that were seen, and is in the address", async () => {
    const page = await openProject("filtered");
    await bodyRows(page).getByText("good").waitFor();
    await filter(page).pressSequentially("eq");
    await page.page.getByRole("option", { name: /^eq/ }).click();
    await filter(page).pressSequentially("na");
    await page.page.keyboard.press("ArrowDown");
    await page.page.keyboard.press("Enter");
    expect(await filter(page).inputValue()).toBe("eq(name, ");
    await page.page.getByRole("option", { name: /^slow/ }).click();
    expect(await filter(page).inputValue()).toBe('eq(name, "slow")');
    await page.page.keyboard.press("Enter");
    await vi.waitFor(async () => expect(await names(page)).toEqual(["slow"]), { timeout: 20_000 });
    expect(new URL(page.page.url()).searchParams.get("filter")).toBe('eq(name, "slow")');
    expect(await page.violations()).toEqual([]);
    await page.page.reload();
    await vi.waitFor(async () => expect(await names(page)).toEqual(["slow"]), { timeout: 20_000 });
    await page.button("Clear the filter").click();
    await vi.waitFor(async () => expect(await names(page)).toHaveLength(3), { timeout: 20_000 });
    expect(page.errors).toEqual([]);
  });

  it("underlines what is wrong and says what was meant", async () => {
    const page = await openProject("filtered");
    await filter(page).fill('eq(nmae, "x")');
    await page.text("Did you mean name?").waitFor();
    expect(await page.page.locator(".filter-mirror mark").textContent()).toBe("nmae");
    await page.page.keyboard.press("Enter");
    expect(new URL(page.page.url()).searchParams.has("filter")).toBe(false);
    expect(await page.violations()).toEqual([]);
  });

  it("searches for plain words, and has quick filters", async () => {
    const page = await openProject("filtered");
    await page.button("Errors").click();
    await vi.waitFor(async () => expect(await names(page)).toEqual(["bad"]), { timeout: 20_000 });
    await page.button("Errors").click();
    await page.button("Slower than 5 s").click();
    await vi.waitFor(async () => expect(await names(page)).toEqual(["slow"]), { timeout: 20_000 });
    await page.button("Slower than 5 s").click();
    await filter(page).fill("it BROKE");
    await page.page.keyboard.press("Enter");
    await vi.waitFor(async () => expect(await names(page)).toEqual(["bad"]), { timeout: 20_000 });
    await filter(page).fill("nowhere");
    await page.page.keyboard.press("Enter");
    await page.text("Nothing matches").waitFor();
    await page.button("Clear the filters").click();
    await vi.waitFor(async () => expect(await names(page)).toHaveLength(3), { timeout: 20_000 });
  });

  it("holds for the charts too", async () => {
    const page = await openProject("filtered", "?tab=charts&errors=1");
    await page.page.getByRole("img", { name: /^Traces\./ }).waitFor();
    await page.page.locator(".figures", { hasText: "100.0 %" }).waitFor();
    // Runs and latency are drawn; these runs had neither tokens nor costs.
    expect(await page.page.locator(".charts canvas").count()).toBe(2);
    expect(await page.page.getByText("None in this time.").count()).toBe(2);
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});

describe("a large trace", () => {
  it("is walked with the keyboard and folded", async () => {
    const root = sample(100_000, { name: "root", end_time: new Date().toISOString() });
    const spans = Array.from({ length: 1_000 }, (_, index) =>
      sample(99_000 - index * 50, { name: `step ${index}`, parent_run_id: root.id, trace_id: root.id }),
    );
    await send("large", [root, ...spans]);
    const page = await running.open(`/traces/${await projectId("large")}/r/${root.id}`);
    await steps(page).filter({ hasText: "step 0" }).first().waitFor();
    expect(await steps(page).count()).toBeLessThan(100);
    await page.page.getByRole("tree").focus();
    await page.page.keyboard.press("End");
    await page.page.getByRole("heading", { name: "step 999" }).waitFor();
    await page.page.keyboard.press("Home");
    await page.page.getByRole("heading", { name: "root", level: 2 }).waitFor();
    await page.page.keyboard.press("ArrowLeft");
    await vi.waitFor(async () => expect(await steps(page).count()).toBe(1));
    await page.page.keyboard.press("ArrowRight");
    await steps(page).filter({ hasText: "step 0" }).first().waitFor();
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});

describe("on a phone, in the dark", () => {
  it("fits, and every part is legible", async () => {
    const options = { viewport: phone, colorScheme: "dark" } as const;
    const id = await projectId("agent");
    const page = await running.open("/traces", options);
    await page.link(/^agent$/).waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    await page.visit(`/traces/${id}`);
    await bodyRows(page).first().waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    await bodyRows(page).first().getByRole("link").click();
    await steps(page).nth(1).waitFor();
    await page.page.getByRole("region", { name: "Chosen step" }).getByText("84").first().waitFor();
    expect(await page.overflowing()).toEqual([]);
    expect(await page.violations()).toEqual([]);
    expect(page.errors).toEqual([]);
  });
});
