import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { findViolations } from "../support/axe.ts";
import { buildPage } from "../support/built-page.ts";
import { launchBrowser, type TestBrowser } from "../support/components/chromium.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

const project = fileURLToPath(new URL("../fixtures/projects/journal/langgraph.json", import.meta.url));
const apiKey = "a-key-only-programs-have";
let browser: TestBrowser;
let database: TestDatabase;
let agent: RunningAgent;

beforeAll(async () => {
  const folder = await buildPage("console");
  [browser, database] = await Promise.all([launchBrowser(), createTestDatabase()]);
  agent = await startAgent(project, {
    DATABASE_URL: database.url,
    TREADLE_CONSOLE_FOLDER: folder,
    TREADLE_API_KEY: apiKey,
    LG_WEBHOOK_TOKEN: "a-token-for-receivers",
  });
});
afterAll(async () => {
  await browser?.stop();
  await agent?.process.kill();
  await database?.drop();
});

async function open(address: string): Promise<{ page: Page; errors: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.setDefaultTimeout(30_000);
  await page.goto(address);
  return { page, errors };
}

it("the link that the server prints opens its studio, signed in, once", async () => {
  const { url, studio } = agent.ready;
  expect(studio).toMatch(new RegExp(`^${url}/studio#code=`));
  const { page, errors } = await open(studio!);
  await page.getByRole("heading", { name: "This project", level: 1 }).waitFor();
  // The code is not left where others read it.
  expect(page.url()).toBe(`${url}/studio/agents/local`);

  await page.getByRole("button", { name: "New thread" }).click();
  await page.getByRole("group", { name: "Graph of journal" }).getByRole("button").first().waitFor();
  await page.getByRole("button", { name: "JSON" }).click();
  await page.getByLabel("Input as JSON").fill('{"fail": false}');
  await page.getByRole("button", { name: "Send" }).click();
  await page
    .getByText("Success")
    .or(page.getByText("Done", { exact: true }))
    .first()
    .waitFor();
  const serious = (await findViolations(page)).filter(({ impact }) => impact !== "minor");
  expect(serious).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  await page.setViewportSize({ width: 1280, height: 860 });

  // The browser stays signed in; another one with the same link does not get in.
  await page.reload();
  await page.getByRole("group", { name: "Graph of journal" }).waitFor();
  const other = await open(studio!);
  await other.page.getByText("This link was already used").waitFor();
  expect(await other.page.getByRole("button", { name: "New thread" }).count()).toBe(0);
  expect(errors).toEqual([]);
});

it("nobody gets in without a link, and the cookie alone opens nothing", async () => {
  const { url } = agent.ready;
  const { page } = await open(`${url}/studio`);
  await page.getByRole("heading", { name: "This agent server asks who you are" }).waitFor();
  const search = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const asked = async (headers: Record<string, string>) => {
    const init = { ...search, headers: { ...search.headers, ...headers } };
    return (await fetch(`${url}/threads/search`, init)).status;
  };
  expect(await asked({})).toBe(401);
  expect(await asked({ "x-api-key": apiKey })).toBe(200);
  expect(await asked({ "x-treadle-console": "1", cookie: "treadle_studio_00000000=made-up" })).toBe(401);
  const forged = await fetch(`${url}/studio/sign-in`, {
    ...search,
    headers: { ...search.headers, "x-treadle-console": "1" },
    body: JSON.stringify({ code: "zzzzzzzz.made-up" }),
  });
  expect(forged.status).toBe(401);
});
