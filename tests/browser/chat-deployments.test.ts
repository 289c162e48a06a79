import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { type ChatPage, openChatPages } from "../support/chat-page.ts";
import { quickDeployments } from "../support/compiled-agent.ts";
import type { GitFiles } from "../support/components/git-repository.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { ConsolePage, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// Real builds, real servers and a real browser on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

/** Asks before it answers, when somebody wants that; inside it is a graph of its own. */
const project: GitFiles = quickProject("unused", {
  "langgraph.json": JSON.stringify({ graphs: { weaver: "./graph.js:graph" } }),
  "graph.js": `import { AIMessage } from "@langchain/core/messages";
import { END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
const said = ({ messages }) => String(messages.findLast((message) => message.getType() === "human").content);
const loom = new StateGraph(MessagesAnnotation)
  .addNode("thread the loom", async () => ({}))
  .addNode("wind the yarn", async () => ({}))
  .addEdge(START, "thread the loom")
  .addEdge("thread the loom", "wind the yarn")
  .addEdge("wind the yarn", END)
  .compile();
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("loom", loom)
  .addNode("ask", async (state) => {
    if (!said(state).includes("ask me")) return {};
    const answer = interrupt({ question: "Which colour shall it be?" });
    return { messages: [new AIMessage("Then it is " + JSON.stringify(answer) + ".")] };
  })
  .addNode("weave", async (state) => ({ messages: [new AIMessage("Woven: " + said(state))] }))
  .addEdge(START, "loom")
  .addEdge("loom", "ask")
  .addEdge("ask", "weave")
  .addEdge("weave", END)
  .compile();
`,
});

let running: RunningConsole;
let pages: Awaited<ReturnType<typeof openChatPages>>;
let git: GitServer;

beforeAll(async () => {
  const deployments = await quickDeployments();
  [running, git, pages] = await Promise.all([
    startConsole({ deployments }),
    startGitServer(),
    openChatPages(),
  ]);
});
afterEach(() => pages.closeAll());
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await pages?.stop();
  await running?.stop();
  await git?.stop();
});

async function deployed(name: string): Promise<string> {
  const repository = await git.createRepository(name, project);
  const body = gitDeployment(name, repository.url);
  const plane = {
    call: <Body>(method: string, path: string, sent?: unknown) =>
      running.app.call<Body>(method, path, { body: sent }),
  };
  const source_config = { ...body.source_config, install_command: quickInstall };
  const { deployment, revision } = await deploy(plane, { ...body, source_config });
  expect(revision.status).toBe("DEPLOYED");
  return deployment.id;
}

/** The page is put in place of the server's, so the browser does not take it for one of this machine; a person's is. */
const open = () =>
  pages.openOn(running.url, { apiKey: running.app.apiKey, permissions: ["local-network-access"] });
const picker = (chat: ChatPage) => chat.page.getByRole("combobox", { name: "Assistant" });
/** The page that a link of the chat opens beside it. */
async function follow(chat: ChatPage, name: string): Promise<ConsolePage> {
  const link = chat.page.getByRole("link", { name }).last();
  const [opened] = await Promise.all([chat.page.context().waitForEvent("page"), link.click()]);
  return new ConsolePage(opened, running.url);
}

describe("the chat over a deployment", () => {
  it("talks, branches, answers questions, and leads to the trace and the studio and back", async () => {
    const id = await deployed("weaver");
    const chat = await open();
    await picker(chat).selectOption({ label: "weaver" });
    await chat.page.getByText("This is weaver, a deployment of your workspace.").waitFor();
    // Closed, the picker names the deployment, not what its only graph is called.
    expect(await picker(chat).locator("option:checked").textContent()).toBe("weaver");
    await chat.say("a blue scarf");
    await chat.answered("Woven: a blue scarf");

    const trace = await follow(chat, "Open trace");
    await trace.page.getByRole("link", { name: "weaver" }).first().waitFor();
    await trace.page.getByText("thread the loom").first().waitFor();
    const studio = await follow(chat, "Open in studio");
    await studio.heading("a blue scarf").waitFor();
    const graph = studio.page.getByRole("group", { name: "Graph of weaver" });
    await graph.getByRole("button", { name: /thread the loom/ }).waitFor();
    expect(await studio.violations()).toEqual([]);
    expect(await studio.link("Open in chat").getAttribute("href")).toBe(
      `/chat#/s/${id}/t/${chat.page.url().split("/t/")[1]}`,
    );
    await trace.page.close();
    await studio.page.close();

    await chat.button("Regenerate").click();
    await chat.page.locator(".from-assistant .versions").getByText("2/2").waitFor();
    await chat.say("ask me about a red one");
    await chat.page.getByText("Which colour shall it be?").waitFor();
    await chat.page.reload();
    await chat.page.getByLabel(/^Answer/).fill('{"colour": "red"}');
    await chat.page.getByRole("button", { name: "Answer", exact: true }).click();
    await chat.answered("Woven: ask me about a red one");
    await chat.page.getByText('Then it is {"colour":"red"}.').waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    expect(chat.errors).toEqual([]);
  });

  it("notices that the deployment was deleted, and leads to other agents", async () => {
    const id = await deployed("unravelled");
    const chat = await open();
    await picker(chat).selectOption({ label: "unravelled" });
    await chat.say("a short scarf");
    await chat.answered("Woven: a short scarf");
    const gone = await running.app.call("DELETE", `/v2/deployments/${id}`);
    expect(gone.status).toBeLessThan(300);
    await chat.page.getByRole("heading", { name: "This agent cannot be reached" }).waitFor();
    await chat.page.getByText("it may have been deleted").waitFor();
    await chat.button("Go to the built-in agents").click();
    await chat.say("Calculate 6 * 7");
    await chat.answered("The result is 42.");
    expect(await picker(chat).locator("option", { hasText: "unravelled" }).count()).toBe(0);
    expect(chat.errors).toEqual([]);
  });
});

describe("the chat over another server", () => {
  const key = "a-key-of-the-other-server";
  let folder: string;
  let database: TestDatabase;
  let agent: RunningAgent | undefined;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), "treadle-other-"));
    for (const [name, text] of Object.entries(project)) await writeFile(join(folder, name), String(text));
    await symlink(
      fileURLToPath(new URL("../../node_modules", import.meta.url)),
      join(folder, "node_modules"),
    );
  });
  afterAll(async () => {
    await agent?.process.kill();
    await database?.drop();
    if (folder) await rm(folder, { recursive: true });
  });
  afterEach(async () => {
    await agent?.process.kill();
    agent = undefined;
  });

  const start = async (more: Record<string, string>) => {
    agent = await startAgent(join(folder, "langgraph.json"), {
      DATABASE_URL: database.url,
      TREADLE_API_KEY: key,
      TREADLE_AGENT_AUTH: "required",
      ...more,
    });
    return agent.ready.url;
  };
  const connect = async (chat: ChatPage, url: string, apiKey: string) => {
    await picker(chat).selectOption({ label: "Add a server by its address…" });
    await chat.page.getByRole("textbox", { name: "Address" }).fill(url);
    await chat.page.getByLabel(/^API key/).fill(apiKey);
    await chat.button("Connect").click();
  };

  it("says that the key is wrong, takes another one, and talks", async () => {
    const url = await start({ CORS_ALLOW_ORIGINS: running.url });
    const chat = await open();
    await connect(chat, url, "not-the-key-it-has");
    await chat.page.getByText("This is not the API key of this server.").waitFor();
    expect(await chat.seriousViolations()).toEqual([]);
    await chat.button("Change address or key").click();
    expect(await chat.page.getByRole("textbox", { name: "Address" }).inputValue()).toBe(url);
    await chat.page.getByLabel(/^API key/).fill(key);
    await chat.button("Connect").click();
    await chat.say("a green scarf");
    await chat.answered("Woven: a green scarf");
    // Nothing of it leads into this server's console: it is not known there.
    expect(await chat.page.getByRole("link", { name: "Open trace" }).count()).toBe(0);
    await chat.page.reload();
    await chat.page.getByText("Woven: a green scarf").waitFor();
    expect(await picker(chat).locator("option:checked").textContent()).toBe(url.replace("http://", ""));
    expect(chat.errors).toEqual([]);
  });

  it("names the setting when the server does not let this page in, and begins once it does", async () => {
    const url = await start({});
    const chat = await open();
    await connect(chat, url, key);
    await chat.page.getByText(`CORS_ALLOW_ORIGINS=${running.url}`).waitFor();
    await agent?.process.kill();
    const { port } = new URL(url);
    agent = await startAgent(
      join(folder, "langgraph.json"),
      {
        DATABASE_URL: database.url,
        TREADLE_API_KEY: key,
        TREADLE_AGENT_AUTH: "required",
        CORS_ALLOW_ORIGINS: running.url,
      },
      ["--port", port],
    );
    await chat.say("a yellow scarf");
    await chat.answered("Woven: a yellow scarf");
  });
});
