import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

/** What a run of a deployment leads to besides its result: a webhook to the project, feedback on its trace. */
let app: TestApp;
let git: GitServer;
let deployment: DeploymentBody;
let client: Client;

const projectApp = `import { Hono } from "hono";
export const app = new Hono();
const received = [];
app.post("/hook", async (c) => {
  received.push({ headers: c.req.header(), body: await c.req.json() });
  return c.body(null, 204);
});
app.get("/received", (c) => c.json(received));
`;

beforeAll(async () => {
  app = await createTestApp({
    logLevel: process.env.TEST_LOG ?? "silent",
    deployments: await quickDeployments(),
  });
  await app.listen();
  git = await startGitServer();
  const repository = await git.createRepository("own", quickProject("own", { "app.js": projectApp }));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const plane = {
    call: async <Body>(method: string, path: string, body?: unknown) =>
      app.call<Body>(method, path, body === undefined ? {} : { body }),
  };
  const made = await deploy(plane, gitDeployment("own-routes", repository.url, { source_config }));
  expect([made.revision.status, made.revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  deployment = made.deployment;
  client = new Client({ apiUrl: deployment.url, apiKey: app.apiKey, callerOptions: { maxRetries: 0 } });
}, 120_000);

afterAll(async () => {
  await git?.stop();
  if (app) await dropDeploymentDatabases(app.database);
  await app?.stop();
});

const input = { messages: [{ role: "user", content: "hello" }] };

describe("a run of a deployment", () => {
  it("with a relative webhook calls the project's own route, with no credential of the caller or the gateway", async () => {
    const run = await client.runs.create(null, "echo", { input, webhook: "/hook" });
    type Received = { headers: Record<string, string>; body: { run_id: string; status: string } }[];
    const [first] = await waitUntil(
      async () => {
        const answer = await fetch(`${deployment.url}/received`, { headers: { "x-api-key": app.apiKey } });
        const received = (await answer.json()) as Received;
        return received.length > 0 ? received : undefined;
      },
      { what: "the webhook", timeoutMs: 20_000 },
    );
    expect(first!.body).toMatchObject({ run_id: run.run_id, status: "success" });
    expect(Object.keys(first!.headers).sort()).toEqual(["content-type", "user-agent", "x-treadle-run-id"]);
  });

  it("with feedback_keys ends its stream with links, which take feedback on its trace", async () => {
    const { thread_id } = await client.threads.create();
    const parts: { event: string; data: unknown }[] = [];
    const payload = { input, feedbackKeys: ["helpful", "tone"] };
    for await (const part of client.runs.stream(thread_id, "echo", payload)) parts.push(part);
    const { run_id } = parts[0]!.data as { run_id: string };
    const last = parts.at(-1)!;
    expect(last.event).toBe("feedback");
    const links = last.data as Record<string, string>;
    expect(Object.keys(links).sort()).toEqual(["helpful", "tone"]);
    // Without any key: who has the link may use it.
    const given = await fetch(links.helpful!, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ score: 1, comment: "very" }),
    });
    expect(given.status).toBe(200);
    type Stored = { key: string; score: number; run_id: string; session_id: string };
    const stored = await waitUntil(
      async () => {
        const { body } = await app.call<Stored[]>("GET", `/api/v1/feedback?run=${run_id}`);
        return body.find(({ key }) => key === "helpful");
      },
      { what: "the feedback on the run", timeoutMs: 20_000 },
    );
    expect(Number(stored.score)).toBe(1);
    const trace = await waitUntil(
      async () => {
        const answer = await app.call<{ id: string; session_id: string }>("GET", `/api/v1/runs/${run_id}`);
        return answer.status === 200 ? answer.body : undefined;
      },
      { what: "the trace of the run", timeoutMs: 20_000 },
    );
    const { body: projects } = await app.call<{ id: string }[]>("GET", "/api/v1/sessions?name=own-routes");
    expect(trace.session_id).toBe(projects[0]!.id);
  });
});
