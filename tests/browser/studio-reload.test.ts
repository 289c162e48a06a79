import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { findViolations } from "../support/axe.ts";
import { buildPage } from "../support/built-page.ts";
import { launchBrowser, type TestBrowser } from "../support/components/chromium.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startReloadingAgent } from "../support/reloading-agent.ts";
import { runTreadle } from "../support/treadle.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

let browser: TestBrowser;
let database: TestDatabase;
let folder: string;
let agent: Awaited<ReturnType<typeof startReloadingAgent>>;

beforeAll(async () => {
  const page = await buildPage("console");
  [browser, database] = await Promise.all([launchBrowser(), createTestDatabase()]);
  folder = await mkdtemp(join(tmpdir(), "treadle-studio-reload-"));
  expect(await runTreadle(["new", folder, "--template", "typescript"])).toMatchObject({ code: 0 });
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
  agent = await startReloadingAgent(folder, { DATABASE_URL: database.url, TREADLE_CONSOLE_FOLDER: page });
});
afterAll(async () => {
  await browser?.stop();
  await agent?.process.kill();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

it("a change that cannot be loaded is told in the studio until it is mended, and the server goes on", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(60_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(agent.ready.studio!);
  await page.getByRole("heading", { name: "This project", level: 1 }).waitFor();
  const notice = page.getByRole("alert").filter({ hasText: "could not be loaded" });
  expect(await notice.count()).toBe(0);

  const mistake = 'throw new Error("the warp is torn");\n';
  expect(await agent.change("src/agent.ts", (text) => mistake + text)).toMatchObject({ reloaded: false });
  await notice.getByText("src/agent.ts could not be loaded").waitFor();
  await notice.getByText("the warp is torn").waitFor();
  await notice.getByText("The previous version keeps serving.").waitFor();
  const serious = (await findViolations(page)).filter(({ impact }) => impact !== "minor");
  expect(serious).toEqual([]);
  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByRole("group", { name: "Graph of agent" }).getByRole("button").first().waitFor();
  await notice.waitFor();

  expect(await agent.change("src/agent.ts", (text) => text.replace(mistake, ""))).toMatchObject({
    reloaded: true,
  });
  await notice.waitFor({ state: "detached" });
  expect(errors).toEqual([]);
});

it("a question is answered with Ctrl+Enter, by a graph that was just changed to ask it", async () => {
  const changed = await agent.change("src/agent.ts", (text) =>
    text
      .replace("import { END", "import { interrupt, END")
      .replace("[await answer(messages)]", '[["ai", "So " + interrupt("How deep is the loom?")]]'),
  );
  expect(changed).toMatchObject({ reloaded: true });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(60_000);
  await page.goto(`${agent.ready.url}/studio`);
  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByRole("textbox", { name: "Message" }).fill("Measure it");
  await page.keyboard.press("Enter");
  await page.getByText("How deep is the loom?").waitFor();
  const field = page.getByRole("textbox", { name: "Your answer" });
  await field.fill("two");
  await field.press("Enter");
  await page.keyboard.type("metres");
  await field.press("Control+Enter");
  await page.getByRole("log", { name: "Messages" }).getByText("So two").waitFor();
  await page.getByRole("log", { name: "Messages" }).getByText("metres").waitFor();
});

it("only those who may use the server read what went wrong", async () => {
  const read = (headers: Record<string, string> = {}) =>
    fetch(`${agent.ready.url}/studio/reload`, { headers: { accept: "application/json", ...headers } });
  expect(await (await read()).json()).toEqual({ watched: true, failure: null });
  // A page of another site gets nothing of this machine's server.
  const foreign = await read({ origin: "https://elsewhere.example", "sec-fetch-site": "cross-site" });
  expect(foreign.status).toBeGreaterThanOrEqual(400);
});
