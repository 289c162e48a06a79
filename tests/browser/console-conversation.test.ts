import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { startOpenAiServer } from "../support/components/openai-server.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let running: RunningConsole;
let provider: Awaited<ReturnType<typeof startOpenAiServer>>;
const before = process.env.OPENAI_BASE_URL;
beforeAll(async () => {
  provider = await startOpenAiServer("A better answer.");
  process.env.OPENAI_BASE_URL = `${provider.origin}/v1`;
  running = await startConsole();
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  if (before === undefined) delete process.env.OPENAI_BASE_URL;
  else process.env.OPENAI_BASE_URL = before;
  await running?.stop();
  await provider?.stop();
});

const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const threadId = "order 42/eu";

type Turn = { asked: unknown; answered: string; agoMs: number };

async function send(project: string, turns: Turn[]): Promise<string> {
  const post = turns.map(({ asked, answered, agoMs }) => ({
    id: randomUUID(),
    session_name: project,
    name: "support",
    run_type: "chain",
    start_time: new Date(Date.now() - agoMs).toISOString(),
    end_time: new Date(Date.now() - agoMs + 700).toISOString(),
    inputs: { messages: [{ role: "user", content: asked }] },
    outputs: {
      messages: [
        { role: "user", content: asked },
        { role: "assistant", content: answered },
      ],
    },
    extra: { metadata: { thread_id: threadId } },
  }));
  expect((await running.app.call("POST", "/api/v1/runs/batch", { body: { post } })).status).toBe(202);
  const { body } = await running.app.call<{ id: string }[]>("GET", `/api/v1/sessions?name=${project}`);
  return body[0]!.id;
}

const turns = (page: ConsolePage) => page.page.getByRole("list", { name: "Turns" }).locator("> li");

it("a thread's traces are a conversation; each leads to its trace, and from there back", async () => {
  const picture = [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url: pixel } },
    { type: "image_url", image_url: { url: "https://pictures.example/cat" } },
  ];
  const project = await send("support", [
    { asked: picture, answered: "One pixel.", agoMs: 60_000 },
    { asked: "שלום", answered: "مرحبا", agoMs: 30_000 },
  ]);
  const page = await running.open(`/traces/${project}/t/${encodeURIComponent(threadId)}`);
  const asked: string[] = [];
  page.page.on("request", (request) => asked.push(request.url()));
  await turns(page).nth(1).waitFor();
  expect(await turns(page).count()).toBe(2);
  await turns(page).nth(0).getByText("What is this?").waitFor();
  await turns(page).nth(0).getByText("One pixel.").waitFor();
  await turns(page).nth(1).getByText("مرحبا").waitFor();
  const image = turns(page).nth(0).getByRole("img", { name: "Image in the message" });
  await vi.waitFor(async () =>
    expect(
      await image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth),
    ).toBe(1),
  );
  const foreign = page.page.getByRole("link", { name: "Open the image at pictures.example" });
  expect(await foreign.getAttribute("rel")).toContain("noreferrer");
  expect(asked.filter((url) => url.includes("pictures.example"))).toEqual([]);
  await page.settled();
  expect(await page.violations()).toEqual([]);

  await turns(page).nth(1).getByRole("link", { name: "2. support" }).click();
  await page.heading("support").first().waitFor();
  await page.page.getByRole("link", { name: threadId }).click();
  await turns(page).nth(1).waitFor();
});

it("on a phone, in the dark", async () => {
  // A line of code does not wrap: it scrolls by itself.
  const answered = `hi\n\n\`\`\`\n${"word".repeat(60)}\n\`\`\``;
  const project = await send("support-phone", [{ asked: "hello", answered, agoMs: 5_000 }]);
  const page = await running.open(`/traces/${project}/t/${encodeURIComponent(threadId)}`, {
    viewport: phone,
    colorScheme: "dark",
  });
  await turns(page).first().waitFor();
  await page.settled();
  expect(await page.violations()).toEqual([]);
  await page.page.locator(".turn pre").waitFor();
  expect(await page.overflowing()).toEqual([]);
});

it("the thread of a built-in agent opens in the studio", async () => {
  const { body: thread } = await running.app.call<{ thread_id: string }>("POST", "/threads", { body: {} });
  const input = { messages: [{ role: "user", content: "What is 12 * 7?" }] };
  const path = `/threads/${thread.thread_id}/runs/wait`;
  expect((await running.app.call("POST", path, { body: { assistant_id: "agent", input } })).status).toBe(200);
  const project = await vi.waitFor(
    async () => {
      const { body } = await running.app.call<{ id: string }[]>("GET", "/api/v1/sessions?name=agent");
      const found = body[0]!.id;
      const roots = await running.app.call<{ runs: unknown[] }>("POST", "/api/v1/runs/query", {
        body: { session: [found], is_root: true },
      });
      expect(roots.body.runs).toHaveLength(1);
      return found;
    },
    { timeout: 30_000, interval: 200 },
  );
  const page = await running.open(`/traces/${project}/t/${thread.thread_id}`);
  await turns(page).first().getByText("84").first().waitFor();
  await page.link("Open in the studio").click();
  await page.page.waitForURL(`**/agents/built-in/threads/${thread.thread_id}`);
});

it("a model's call is changed and run again beside its first answer; without a key the page leads to the settings", async () => {
  const id = randomUUID();
  const post = {
    id,
    session_name: "models",
    name: "ChatOpenAI",
    run_type: "llm",
    start_time: new Date(Date.now() - 5_000).toISOString(),
    end_time: new Date(Date.now() - 4_000).toISOString(),
    inputs: {
      messages: [
        [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Why?" },
        ],
      ],
    },
    outputs: { generations: [[{ text: "Because.", message: { type: "ai", content: "Because." } }]] },
    extra: { metadata: { ls_provider: "openai", ls_model_name: "some-model", ls_temperature: 0.2 } },
  };
  expect((await running.app.call("POST", "/api/v1/runs/batch", { body: { post: [post] } })).status).toBe(202);
  const page = await running.open(`/traces/run/r/${id}`);
  await page.link("Playground").click();
  const field = (name: string) => page.page.getByLabel(name, { exact: true });
  await field("Model").waitFor();
  expect(await field("Model").inputValue()).toBe("openai/some-model");
  expect(await field("Temperature").inputValue()).toBe("0.2");
  expect(await field("Message 2").inputValue()).toBe("Why?");
  await page.link("Add one in the settings").waitFor();
  await page.settled();
  expect(await page.violations()).toEqual([]);
  expect(await page.page.getByRole("button", { name: "Run again" }).isDisabled()).toBe(true);

  const key = "sk-test-0123456789abcdefWXYZ";
  expect((await running.app.call("PUT", "/v2/model-keys/openai", { body: { key } })).status).toBe(200);
  await page.page.reload();
  await field("Message 2").fill("Why not?");
  await field("Message 2").press("Control+Enter");
  const answer = page.page.getByRole("region", { name: "The new answer" });
  await answer.getByText("A better answer.").waitFor();
  await page.page.getByRole("region", { name: "The first answer" }).getByText("Because.").waitFor();
  await answer.getByRole("link", { name: "Open its trace" }).waitFor();
  await page.settled();
  expect(await page.violations()).toEqual([]);
  await page.page.setViewportSize(phone);
  expect(await page.overflowing()).toEqual([]);
});

it("columns are chosen and kept, and a click on a head sorts", async () => {
  const post = [3, 1, 2].map((seconds) => ({
    id: randomUUID(),
    session_name: "sorted",
    name: `took ${seconds}`,
    run_type: "chain",
    start_time: new Date(Date.now() - 60_000).toISOString(),
    end_time: new Date(Date.now() - 60_000 + seconds * 1_000).toISOString(),
    tags: [`tag ${seconds}`],
  }));
  expect((await running.app.call("POST", "/api/v1/runs/batch", { body: { post } })).status).toBe(202);
  const { body } = await running.app.call<{ id: string }[]>("GET", "/api/v1/sessions?name=sorted");
  const page = await running.open(`/traces/${body[0]!.id}`);
  const rows = page.page.locator(".runs-body-row");
  const names = async () => (await rows.locator(".runs-name").allInnerTexts()).map((text) => text.trim());
  const sort = page.page.getByRole("button", { name: "Latency" });
  await sort.click();
  await expect.poll(names).toEqual(["took 3", "took 2", "took 1"]);
  expect(new URL(page.page.url()).searchParams.get("sort")).toBe("-latency");
  await sort.click();
  await expect.poll(names).toEqual(["took 1", "took 2", "took 3"]);
  await page.page.locator("summary", { hasText: "Columns" }).click();
  await page.page.getByRole("checkbox", { name: "Tags" }).check();
  await rows.first().getByText("tag 1").waitFor();
  await page.page.getByRole("checkbox", { name: "Output" }).uncheck();
  await page.settled();
  expect(await page.violations()).toEqual([]);
  await page.page.reload();
  await rows.first().getByText("tag 1").waitFor();
  expect(await page.page.getByRole("columnheader", { name: "Output" }).count()).toBe(0);

  // The view is kept for everybody, and its address shows the same to everybody.
  const menu = page.page.locator("summary", { hasText: "Views" });
  await menu.click();
  await page.page.getByRole("button", { name: "Save this view" }).click();
  await page.page.getByRole("textbox", { name: "Name", exact: true }).fill("Slow");
  await page.page.getByRole("button", { name: "Save", exact: true }).click();
  const saved = page.page.getByRole("list", { name: "Saved views" });
  const address = await saved.getByRole("link", { name: "Slow" }).getAttribute("href");
  expect(await page.violations()).toEqual([]);
  await page.visit(`${address}`);
  await rows.first().getByText("tag 1").waitFor();
  await expect.poll(names).toEqual(["took 1", "took 2", "took 3"]);
  await menu.click();
  await page.page.getByRole("button", { name: "Rename Slow" }).click();
  await page.page.getByRole("textbox", { name: "Name", exact: true }).fill("Quick");
  await page.page.getByRole("button", { name: "Save", exact: true }).click();
  await page.page.getByRole("button", { name: "Delete Quick" }).click();
  await page.page.getByText("No saved views yet.").waitFor();
  await page.page.setViewportSize(phone);
  expect(await page.overflowing()).toEqual([]);
});
