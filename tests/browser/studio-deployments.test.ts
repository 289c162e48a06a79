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

/** A graph inside the graph, a setting, a question, and fields of its own. */
const project: GitFiles = quickProject("unused", {
  "langgraph.json": JSON.stringify({ graphs: { weaver: "./graph.js:graph" } }),
  "graph.js": `import { AIMessage } from "@langchain/core/messages";
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
const State = Annotation.Root({ ...MessagesAnnotation.spec, colour: Annotation() });
const said = ({ messages }) => String(messages.findLast((message) => message.getType() === "human").content);
const pause = () => new Promise((resolve) => setTimeout(resolve, 300));
const loom = new StateGraph(State)
  .addNode("wind", async () => { await pause(); return {}; })
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

it("a deployment is opened in the studio, drawn, run, and stopped before a node", async () => {
  const page = await running.open(`/agents/${id}`);
  await page.heading("weaver").waitFor();
  await page.button("New thread").click();
  await node(page, /^wind/).waitFor();
  await say(page, "a scarf");
  await messages(page).getByText("Woven of wool, plain: a scarf").waitFor();
  await node(page, /^weave .*7 tokens, has run$/).waitFor();

  await node(page, /^weave/).click();
  await page.button("Stop before").click();
  await say(page, "a hat");
  await page.page.getByRole("heading", { name: "Stopped before weave" }).waitFor();
  await page.button("Continue").click();
  await messages(page).getByText("plain: a hat").waitFor();
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
