import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  readExample,
  revisionDone,
} from "../support/deployments.ts";

const timeout = 300_000;

let app: TestApp;
let git: GitServer;

beforeAll(async () => {
  app = await createTestApp({
    logLevel: process.env.TEST_LOG ?? "silent",
    deployments: await quickDeployments({ bakeMs: 500 }),
  });
  await app.listen();
  git = await startGitServer();
});
afterAll(async () => {
  await git?.stop();
  if (app) await dropDeploymentDatabases(app.database);
  await app?.stop();
});

const plane = {
  call: <Body>(method: string, path: string, body?: unknown) =>
    app.call<Body>(method, path, body === undefined ? {} : { body }),
};

type Messages = { messages: { content: string }[] };
const said = (text: string) => ({ messages: [{ role: "user", content: text }] });
const deployed = { status: "DEPLOYED", status_message: expect.any(String) };

/** The last message of a run on a thread of its own. */
async function ask(client: Client, assistant: string, text: string): Promise<string> {
  const { thread_id } = await client.threads.create();
  const result = await client.runs.wait(thread_id, assistant, { input: said(text) });
  return (result as Messages).messages.at(-1)!.content;
}

type Span = { id: string; name: string; parent_run_id: string | null; end_time: string | null };

/** The spans of one trace in the project of a deployment, once all of them have ended. */
async function traceIn(deploymentName: string): Promise<Span[]> {
  return waitUntil(
    async () => {
      const { body: projects } = await app.call<{ id: string }[]>(
        "GET",
        `/api/v1/sessions?name=${deploymentName}`,
      );
      const body = { session: projects.map(({ id }) => id), select: ["id", "name", "parent_run_id"] };
      const answer = await app.call<{ runs: Span[] }>("POST", "/api/v1/runs/query", { body });
      const { runs = [] } = answer.body;
      return runs.some(({ parent_run_id: parent }) => parent === null) && runs;
    },
    { what: `a trace of ${deploymentName}`, timeoutMs: 30_000, intervalMs: 200 },
  );
}

it("is deployed from git, answers, streams, and goes back to what it was", { timeout }, async () => {
  const files = await readExample("react-agent-python");
  const repository = await git.createRepository("react-agent-python", files);
  const secrets = [{ name: "GREETING", value: "Ahoy there" }];
  const body = gitDeployment("react-agent-python", repository.url, { secrets });
  const { deployment, revision: first } = await deploy(plane, body);
  expect(first).toMatchObject(deployed);
  const client = new Client({ apiUrl: deployment.url, apiKey: app.apiKey });
  expect(await ask(client, "agent", "What is 6 * 7?")).toBe("The answer is 42.");
  // With the key that the platform gave it.
  const [run] = await client.runs.list((await client.threads.search())[0]!.thread_id);
  const trace = await traceIn("react-agent-python");
  expect(trace.filter(({ parent_run_id: parent }) => parent === null)).toMatchObject([{ id: run!.run_id }]);

  const { thread_id } = await client.threads.create();
  const chunks = [];
  const options = { input: said("hi"), streamMode: ["updates" as const, "messages-tuple" as const] };
  for await (const chunk of client.runs.stream(thread_id, "agent", options)) chunks.push(chunk);
  expect(JSON.stringify(chunks)).toContain("Ahoy there! You said: hi");

  const model = "src/react_agent/offline_model.py";
  await repository.commit({ [model]: files[model]!.replace("You said", "I heard") }, "Other words");
  const change = { source_revision_config: { repo_ref: "main" } };
  const changed = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, change);
  const second = await revisionDone(plane, deployment.id, changed.body.latest_revision_id!);
  expect(second).toMatchObject(deployed);
  expect(await ask(client, "agent", "hi")).toBe("Ahoy there! I heard: hi");
  // What the first revision left on a thread is still there.
  const state = await client.threads.getState<Messages>(thread_id);
  expect(state.values.messages).toHaveLength(2);

  const path = `/v2/deployments/${deployment.id}/revisions/${first.id}/redeploy`;
  const back = await plane.call<DeploymentBody>("POST", path);
  const third = await revisionDone(plane, deployment.id, back.body.latest_revision_id!);
  expect(third).toMatchObject(deployed);
  expect(third.events.map(({ message }) => message)).toContain("Already built; nothing to do.");
  expect(await ask(client, "agent", "hi")).toBe("Ahoy there! You said: hi");
});

it("serves an application of its own beside its graphs", { timeout }, async () => {
  const repository = await git.createRepository(
    "custom-route-python",
    await readExample("custom-route-python"),
  );
  const { deployment, revision } = await deploy(plane, gitDeployment("custom-route-python", repository.url));
  expect(revision).toMatchObject(deployed);
  const hello = await fetch(`${deployment.url}/hello/world`);
  expect(await hello.json()).toEqual({ hello: "world", deployment: "custom-route-python" });
  const client = new Client({ apiUrl: deployment.url, apiKey: app.apiKey });
  expect(await ask(client, "counter", "go")).toBe("Turn 1.");
});

it("may be of both languages, each with its packages", { timeout }, async () => {
  const repository = await git.createRepository(
    "generative-ui-python",
    await readExample("generative-ui-python"),
  );
  const { deployment, revision } = await deploy(plane, gitDeployment("generative-ui-python", repository.url));
  expect(revision).toMatchObject(deployed);
  const client = new Client({ apiUrl: deployment.url, apiKey: app.apiKey });
  expect(await ask(client, "weather", "Oslo")).toBe("This is the weather in Oslo.");
  const headers = { "content-type": "application/json", "x-api-key": app.apiKey };
  const page = await fetch(`${deployment.url}/ui/weather`, {
    method: "POST",
    headers,
    body: '{"name":"weather"}',
  });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<script")]);
});

it("says when a graph takes more memory than the deployment has, and serves the others", {
  timeout,
}, async () => {
  const node = (name: string, body: string) =>
    `from langgraph.graph import START, MessagesState, StateGraph\n\n\ndef ${name}(state):\n    ${body}\n\n\ngraph = StateGraph(MessagesState).add_node("n", ${name}).add_edge(START, "n").compile()\n`;
  const repository = await git.createRepository("hungry", {
    "langgraph.json": JSON.stringify({
      dependencies: ["."],
      graphs: { hungry: "./hungry.py:graph", modest: "./modest.py:graph" },
    }),
    "requirements.txt": "langgraph\n",
    "hungry.py": node("hungry", 'return {"messages": [str(len(b"x" * (4 << 30)))]}'),
    "modest.py": node("modest", 'return {"messages": ["Enough."]}'),
  });
  const body = gitDeployment("hungry", repository.url);
  const source_config = { ...body.source_config, resource_spec: { memory_limit_mb: 1_024 } };
  const { deployment, revision } = await deploy(plane, { ...body, source_config });
  expect(revision).toMatchObject(deployed);
  const client = new Client({ apiUrl: deployment.url, apiKey: app.apiKey, callerOptions: { maxRetries: 0 } });
  const words =
    /killed by the kernel \(SIGKILL\), because the deployment was out of memory: its limit is 1024 MB\. Give the deployment more with resource_spec\.memory_limit_mb/;
  await expect(client.runs.wait(null, "hungry", { input: said("eat") })).rejects.toThrow(words);
  expect(await ask(client, "modest", "hi")).toBe("Enough.");
  const log = await plane.call<unknown>("GET", `/v2/deployments/${deployment.id}/logs`);
  expect(JSON.stringify(log.body)).toMatch(words);
});
