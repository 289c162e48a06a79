import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { quickDeployments } from "../support/compiled-agent.ts";
import type { GitFiles } from "../support/components/git-repository.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ConsolePage, phone, type RunningConsole, startConsole } from "../support/console-page.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

// A real build, a real server and a real browser on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/**
 * A graph inside the graph, a setting, a question, and fields of its own. Asked to "hold" something, its nodes wait until
 * the test opens their gate.
 */
const project: GitFiles = quickProject("unused", {
  "langgraph.json": JSON.stringify({
    graphs: { weaver: "./graph.js:graph" },
    http: { app: "./app.js:app" },
  }),
  "gates.js": `const gates = new Map();
const gate = (name) => {
  if (!gates.has(name)) gates.set(name, Promise.withResolvers());
  return gates.get(name);
};
export const pass = (name) => gate(name).promise;
export const open = (name) => gate(name).resolve();
`,
  "app.js": `import { Hono } from "hono";
import { open } from "./gates.js";
export const app = new Hono();
app.post("/gates/:name", (c) => { open(c.req.param("name")); return c.body(null, 204); });
`,
  "graph.js": `import { AIMessage } from "@langchain/core/messages";
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { pass } from "./gates.js";
const State = Annotation.Root({ ...MessagesAnnotation.spec, colour: Annotation() });
const said = ({ messages }) => String(messages.findLast((message) => message.getType() === "human").content);
const held = async (node, state) => {
  if (said(state).startsWith("hold ")) await pass(node + " " + said(state).slice(5));
};
const loom = new StateGraph(State)
  .addNode("wind", async (state) => { await held("wind", state); return {}; })
  .addEdge(START, "wind")
  .addNode("card", async () => ({}))
  .addEdge("wind", "card")
  .addEdge("card", END)
  .compile();
export const graph = new StateGraph(State, z.object({ yarn: z.enum(["wool", "silk"]).default("wool") }))
  .addNode("loom", loom)
  .addNode("ask", async (state) => {
    if (!said(state).includes("ask me")) return {};
    const answer = interrupt([{ action_request: { action: "dye", args: { colour: "red" } }, config: { allow_accept: true, allow_edit: true, allow_ignore: false, allow_respond: false }, description: "May I dye it?" }]);
    const [{ type, args }] = [answer].flat();
    return { colour: type === "edit" ? (args.args ?? args).colour : "red" };
  })
  .addNode("weave", async (state, { context }) => {
    await held("weave", state);
    if (said(state).includes("torn")) throw new Error("The thread broke.");
    const usage_metadata = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
    return { messages: [new AIMessage({ content: "Woven of " + (context?.yarn ?? "wool") + ", " + (state.colour ?? "plain") + ": " + said(state), usage_metadata })] };
  })
  .addEdge(START, "loom")
  .addEdge("loom", "ask")
  .addEdge("ask", "weave")
  .addEdge("weave", END)
  .compile();
`,
});

let running: RunningConsole;
let git: GitServer;
let id: string;
let agent: string;
beforeAll(async () => {
  const deployments = await quickDeployments();
  [running, git] = await Promise.all([startConsole({ deployments }), startGitServer()]);
  const repository = await git.createRepository("weaver", project);
  const body = gitDeployment("weaver", repository.url);
  const plane = {
    call: <Body>(method: string, path: string, sent?: unknown) =>
      running.app.call<Body>(method, path, { body: sent }),
  };
  const source_config = { ...body.source_config, install_command: quickInstall };
  const { deployment, revision } = await deploy(plane, { ...body, source_config });
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  id = deployment.id;
  agent = running.url + new URL(deployment.url, running.url).pathname;
});
afterEach(() => running?.closeAll());
afterAll(async () => {
  if (running) await dropDeploymentDatabases(running.app.database);
  await running?.stop();
  await git?.stop();
});

const messages = (page: ConsolePage) => page.page.getByRole("log", { name: "Messages" });
const node = (page: ConsolePage, name: string | RegExp) =>
  page.page.getByRole("group", { name: /^Graph of / }).getByRole("button", { name });

async function say(page: ConsolePage, words: string): Promise<void> {
  await page.page.getByRole("textbox", { name: "Message" }).fill(words);
  await page.page.keyboard.press("Enter");
}

const steps = (page: ConsolePage) => page.page.locator(".checkpoints > li");
const changes = (page: ConsolePage) => page.page.getByRole("list", { name: "What changed" });

/** As a program asks the deployment, through the gateway. */
async function ask(path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${agent}${path}`, {
    method: "POST",
    headers: { "x-api-key": running.app.apiKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect([answer.ok, await answer.text()]).toEqual([true, expect.any(String)]);
}

const openGate = (name: string) => ask(`/gates/${encodeURIComponent(name)}`, {});

async function newThread(): Promise<ConsolePage> {
  const page = await running.open(`/agents/${id}`);
  await page.heading("weaver").waitFor();
  await page.button("New thread").click();
  await node(page, /^wind/).waitFor();
  return page;
}

it("nodes light up while they run, in a subgraph too, also for whoever comes later", async () => {
  const page = await newThread();
  await say(page, "hold a scarf");
  await node(page, "wind, running").waitFor();
  const late = await running.open(page.path);
  await node(late, "wind, running").waitFor();
  await openGate("wind a scarf");
  for (const each of [page, late]) {
    await node(each, /^card.*has run$/).waitFor();
    await node(each, "weave, running").waitFor();
  }
  await openGate("weave a scarf");
  await messages(page).getByText("Woven of wool, plain: hold a scarf").waitFor();
  await messages(late).getByText("Woven of wool, plain: hold a scarf").waitFor();
  await node(page, /^weave .*7 tokens, has run$/).waitFor();

  // The subgraph returns all messages, also the answer of the first run: it has used no tokens itself.
  await say(page, "hold a hat");
  await node(page, "wind, running").waitFor();
  await openGate("wind a hat");
  await node(page, "weave, running").waitFor();
  const loom = page.page.locator(".graph-group", { hasText: "loom" });
  expect(await loom.innerHTML()).not.toContain("token");
  await openGate("weave a hat");
  await messages(page).getByText("plain: hold a hat").waitFor();
  await page.text("Working…").waitFor({ state: "detached" });
  expect(await loom.innerHTML()).not.toContain("token");
  await node(page, /^weave .*7 tokens, has run$/).waitFor();
  expect(page.errors).toEqual([]);
});

it("a run is seen whose beginning and end came before the page listened", async () => {
  const page = await running.open(`/agents/${id}`);
  await page.heading("weaver").waitFor();
  const held = Promise.withResolvers<void>();
  await page.page.route("**/stream?stream_modes=lifecycle", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.button("New thread").click();
  await page.text("No messages yet").waitFor();
  const threadId = page.path.split("/").at(-1);
  await ask(`/threads/${threadId}/runs/wait`, {
    assistant_id: "weaver",
    input: { messages: [{ role: "user", content: "a shawl" }] },
  });
  held.resolve();
  await messages(page).getByText("Woven of wool, plain: a shawl").waitFor();
  expect(page.errors).toEqual([]);
});

it("a run stops at a breakpoint, fails in a node that is shown, and is tried again", async () => {
  const page = await newThread();
  await node(page, /^weave/).click();
  await page.button("Stop before").click();
  await say(page, "a hat");
  await page.page.getByRole("heading", { name: "Stopped before weave" }).waitFor();
  await page.button("Continue").click();
  await messages(page).getByText("plain: a hat").waitFor();
  await page.button("Stop before").click();

  await say(page, "a torn sock");
  await page.page.getByRole("alert").getByText("The thread broke.", { exact: true }).waitFor();
  await node(page, /^weave.*failed$/).waitFor();
  expect(await page.violations()).toEqual([]);
  // From what the run left, too.
  await page.page.reload();
  await page.page.getByRole("alert").getByText("The thread broke.", { exact: true }).waitFor();
  await node(page, /^weave.*failed$/).waitFor();
  await page.page.getByRole("heading", { name: "weave failed" }).waitFor();

  await page.link("State").click();
  await page.button("Edit the values").click();
  const values = page.field("Values");
  await values.fill((await values.inputValue()).replace("a torn sock", "a whole sock"));
  await page.text("Changes messages.").waitFor();
  await page.field("As if this node had returned it").selectOption("ask");
  await page.button("Change the state").click();
  await page.button("Continue").click();
  await messages(page).getByText("plain: a whole sock").waitFor();
  expect(page.errors).toEqual([]);
});

it("a question is answered with changes, a step is edited and forked, and the branch goes on", async () => {
  const page = await newThread();
  await say(page, "ask me about gloves");
  await node(page, /^ask.*waits for you$/).waitFor();
  await page.page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.field("Arguments of dye").fill('{"colour": "blue"}');
  expect(await page.violations()).toEqual([]);
  await page.button("Approve with these changes").click();
  await messages(page).getByText("blue: ask me about gloves").waitFor();
  await changes(page).getByText("by weave").waitFor();

  await steps(page).filter({ hasText: "Before weave" }).first().getByRole("link").click();
  await changes(page).getByText("by ask").waitFor();
  await page.link("State").click();
  await page.button("Edit the values").click();
  const values = page.field("Values");
  const whole = await values.inputValue();
  await values.fill('{"colour": "green"}');
  await page.text("Changes colour. Removes messages.").waitFor();
  await values.fill(whole.replace('"blue"', '"green"'));
  await page.text("Changes colour.").waitFor();
  await page.field("As if this node had returned it").selectOption("ask");
  await page.button("Fork from here").click();
  await page.page.getByRole("heading", { name: "Stopped before weave" }).waitFor();
  await changes(page).getByText("by hand").waitFor();
  await page.button("Continue").click();
  await messages(page).getByText("green: ask me about gloves").waitFor();
  expect(await messages(page).getByText("blue: ask me about gloves").count()).toBe(0);
  await page.text("end of a branch").waitFor();
  await steps(page).first().getByText("Done").waitFor();
  expect(await page.violations()).toEqual([]);
  expect(page.errors).toEqual([]);
});

it("a form of the graph's fields begins a run, which is run again and has a trace", async () => {
  const page = await newThread();
  await page.button("Form").click();
  await page.field(/^messages/).fill("written in a form");
  await page.field(/^colour/).fill('"grey"');
  await page.button("Send").click();
  await messages(page).getByText("grey: written in a form").waitFor();
  await page.link("Runs").click();
  await page.page.locator(".thread-runs > li").getByText("Success").waitFor();
  await page.button("Run again").click();
  await expect.poll(() => page.page.locator(".thread-runs > li").getByText("Success").count()).toBe(2);
  expect(await messages(page).getByText("grey: written in a form").count()).toBe(1);
  await page.button("Trace").first().click();
  await page.page.getByRole("region", { name: "Chosen step" }).waitFor();
  expect(page.errors).toEqual([]);
});

it("assistants of a deployment have versions, two of its threads stand side by side, and threads are found", async () => {
  const page = await running.open(`/agents/${id}?tab=assistants`);
  await page.link("New assistant").click();
  await page.page.getByLabel("Name", { exact: true }).fill("Silk weaver");
  await page.field(/^yarn/).selectOption("silk");
  await page.button("Make the assistant").click();
  await page.heading("Silk weaver").waitFor();
  await page.field(/^yarn/).selectOption("wool");
  await page.button("Save as a new version").click();
  await page.text("Saved as version 2.").waitFor();
  await page.link("Versions").click();
  await page.page.getByRole("listitem").filter({ hasText: "Version 2" }).getByText("context.yarn").waitFor();
  await page.button("Use version 1").click();
  await page.text("Version 1 runs from now on.").waitFor();

  await page.visit(`/agents/${id}/compare`);
  await page.button("Start two new threads").click();
  await page.field("Assistant on the left").selectOption({ label: "weaver" });
  await page.field("Assistant on the right").selectOption({ label: "Silk weaver" });
  await page.page.getByRole("textbox", { name: "Message" }).fill("a quagga rug");
  await page.button("Send to both").click();
  const side = (name: string) => page.page.getByRole("region", { name: `Conversation on the ${name}` });
  await side("left").getByText("Woven of wool, plain: a quagga rug").waitFor();
  await side("right").getByText("Woven of silk, plain: a quagga rug").waitFor();
  expect(await page.violations()).toEqual([]);

  await page.visit(`/agents/${id}`);
  await page.page.getByRole("searchbox").fill("QUAGGA");
  const rows = page.page.getByRole("table", { name: "Threads" }).locator("tbody tr");
  await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(2);
  await rows.first().getByRole("link").first().click();
  await messages(page).getByText("a quagga rug").first().waitFor();
  const small = await running.open(page.path, { viewport: phone, colorScheme: "dark" });
  await messages(small).getByText("a quagga rug").first().waitFor();
  expect(await small.page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(phone.width);
  expect(await small.violations()).toEqual([]);
  expect(page.errors).toEqual([]);
});
