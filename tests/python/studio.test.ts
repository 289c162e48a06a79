import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { findViolations } from "../support/axe.ts";
import { buildPage } from "../support/built-page.ts";
import { launchBrowser, type TestBrowser } from "../support/components/chromium.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startReloadingAgent } from "../support/reloading-agent.ts";

// A real browser on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const graph = `from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]
    colour: str


def said(state: State) -> str:
    return [message for message in state["messages"] if message.type == "human"][-1].content


def ask(state: State):
    if "ask me" not in said(state):
        return {}
    return {"colour": interrupt("Which colour?")}


def weave(state: State):
    if "torn" in said(state):
        raise ValueError("The thread broke.")
    return {"messages": [AIMessage(f"Woven {state.get('colour', 'plain')}: {said(state)}")]}


graph = (
    StateGraph(State)
    .add_node("ask", ask)
    .add_node("weave", weave)
    .add_edge(START, "ask")
    .add_edge("ask", "weave")
    .add_edge("weave", END)
    .compile()
)
`;

let database: TestDatabase;
let browser: TestBrowser;
let folder: string;
let agent: Awaited<ReturnType<typeof startReloadingAgent>>;

beforeAll(async () => {
  const page = await buildPage("console");
  [browser, database] = await Promise.all([launchBrowser(), createTestDatabase()]);
  folder = join(await mkdtemp(join(tmpdir(), "treadle-studio-")), "weaver");
  await mkdir(folder);
  await writeFile(join(folder, "graph.py"), graph);
  await writeFile(
    join(folder, "langgraph.json"),
    JSON.stringify({ dependencies: ["."], graphs: { weaver: "./graph.py:graph" } }),
  );
  agent = await startReloadingAgent(folder, {
    DATABASE_URL: database.url,
    TREADLE_CONSOLE_FOLDER: page,
    TREADLE_PYTHON: process.env.TREADLE_TEST_PYTHON!,
  });
});

afterAll(async () => {
  await browser?.stop();
  await agent?.process.kill();
  await database?.drop();
  if (folder) await rm(join(folder, ".."), { recursive: true, force: true });
});

const messages = (page: Page) => page.getByRole("log", { name: "Messages" });
const node = (page: Page, name: string | RegExp) =>
  page.getByRole("group", { name: "Graph of weaver" }).getByRole("button", { name });
const serious = async (page: Page) => (await findViolations(page)).filter(({ impact }) => impact !== "minor");

async function say(page: Page, words: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(words);
  await page.keyboard.press("Enter");
}

test("a project in Python is run, asked, forked, changed and mended in the studio of treadle dev", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(agent.ready.studio!);
  await page.getByRole("heading", { name: "This project", level: 1 }).waitFor();
  await page.getByRole("button", { name: "New thread" }).click();
  await node(page, /^weave/).waitFor();
  await say(page, "ask me about gloves");
  await page.getByText("Which colour?").first().waitFor();
  await node(page, /^ask.*waits for you$/).waitFor();
  await page.getByRole("textbox", { name: "Your answer" }).fill("blue");
  await page.getByRole("button", { name: "Go on" }).click();
  await messages(page).getByText("Woven blue: ask me about gloves").waitFor();

  await page
    .locator(".checkpoints > li")
    .filter({ hasText: "Before weave" })
    .first()
    .getByRole("link")
    .click();
  await page.getByRole("link", { name: "State" }).click();
  await page.getByRole("button", { name: "Edit the values" }).click();
  const values = page.getByLabel("Values");
  await values.fill((await values.inputValue()).replace('"blue"', '"green"'));
  await page.getByLabel("As if this node had returned it").selectOption("ask");
  await page.getByRole("button", { name: "Fork from here" }).click();
  await page.getByRole("heading", { name: "Stopped before weave" }).waitFor();
  await page.getByRole("button", { name: "Continue" }).click();
  await messages(page).getByText("Woven green: ask me about gloves").waitFor();
  await page.getByText("end of a branch").waitFor();
  expect(await serious(page)).toEqual([]);

  // What one saves is what runs next, on the same thread.
  expect(await agent.change("graph.py", (text) => text.replace("Woven", "Knitted"))).toMatchObject({
    reloaded: true,
  });
  await say(page, "a hat");
  await messages(page).getByText("Knitted green: a hat").waitFor();
  await messages(page).getByText("Woven green: ask me about gloves").waitFor();

  await say(page, "a torn sock");
  const line = graph.split("\n").findIndex((text) => text.includes("raise ValueError")) + 1;
  const failure = page.getByRole("alert").getByText(`ValueError: The thread broke.\ngraph.py:${line}`);
  await failure.waitFor();
  await node(page, /^weave.*failed$/).waitFor();
  await page.reload();
  await failure.waitFor();
  await agent.change("graph.py", (text) => text.replace('if "torn" in', 'if "ragged" in'));
  await page.getByRole("button", { name: "Try again" }).click();
  await messages(page).getByText("Knitted green: a torn sock").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("button", { name: "Run again" }).first().waitFor();
  expect(errors).toEqual([]);
});
