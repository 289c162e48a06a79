import { Client } from "@langchain/langgraph-sdk";
import { Client as TracingClient } from "langsmith";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deploymentChannel } from "../../src/control-plane/desired-state/revision-store.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { jobChannel } from "../../src/platform/jobs/job-statements.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { quickDeployments } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  readExample,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let app: TestApp;
let git: GitServer;
let url: string;
let traces: TracingClient;

beforeAll(async () => {
  app = await createTestApp({
    logLevel: process.env.TEST_LOG ?? "silent",
    deployments: await quickDeployments({ bakeMs: 1_000 }),
  });
  url = await app.listen();
  git = await startGitServer();
  traces = new TracingClient({ apiUrl: `${url}/api/v1`, apiKey: app.apiKey });
});

afterAll(async () => {
  await git?.stop();
  if (app) await dropDeploymentDatabases(app.database);
  await app?.stop();
});

type Session = { id: string; name: string };
type Messages = { messages: { content: string }[] };
type Key = {
  id: string;
  name: string;
  role: string;
  managed: boolean;
  scopes: string[] | null;
  tracing_project: string | null;
  expires_at: string | null;
};
type KeyList = { resources: Key[] };

const plane = {
  call: async <Body>(method: string, path: string, body?: unknown) =>
    app.call<Body>(method, path, body === undefined ? {} : { body }),
};
const said = (text: string) => ({ messages: [{ role: "user", content: text }] });
const clientOf = (deployment: DeploymentBody) => new Client({ apiUrl: deployment.url, apiKey: app.apiKey });
const projectsNamed = async (name: string) =>
  (await app.call<Session[]>("GET", `/api/v1/sessions?name=${encodeURIComponent(name)}`)).body;

const shownFields = ["INPUTS", "OUTPUTS", "RUN_TYPE", "IS_ROOT", "END_TIME", "PROJECT_ID"] as const;

async function tracesOf(project: string) {
  return waitUntil(
    async () => {
      const project_ids = (await projectsNamed(project)).map(({ id }) => id);
      const runs = [];
      for await (const run of traces.runs.query({ project_ids, selects: [...shownFields] })) runs.push(run);
      return runs.some((run) => run.is_root) && runs.every((run) => run.end_time) ? runs : undefined;
    },
    { what: `the traces of ${project}`, timeoutMs: 30_000, intervalMs: 200 },
  );
}

async function deployQuick(name: string, secrets: { name: string; value: string }[] = []) {
  const repository = await git.createRepository(name, quickProject(name));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const { deployment, revision } = await deploy(
    plane,
    gitDeployment(name, repository.url, { source_config, secrets }),
  );
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  return deployment;
}

async function managedKeys(project: string) {
  const { body } = await app.call<KeyList>("GET", "/v2/api-keys?limit=100&include_managed=true");
  return body.resources.filter(({ managed, tracing_project }) => managed && tracing_project === project);
}

async function instancesOf(deployment: DeploymentBody): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`select id from deployment_instances
    where deployment_id = ${deployment.id} and state <> 'exited' order by id`.execute(app.database.sql);
  return rows.map(({ id }) => id);
}

async function environmentOf(deployment: DeploymentBody) {
  return (await (await fetch(`${deployment.url}/environment`)).json()) as Record<string, string>;
}

async function runOnce(deployment: DeploymentBody, graph = "echo", text = "hello") {
  const client = clientOf(deployment);
  const thread = await client.threads.create();
  return (await client.runs.wait(thread.thread_id, graph, { input: said(text) })) as Messages;
}

describe("traces of deployments", () => {
  it("an example's run is in the project of its name, without any work by the user", {
    timeout: 240_000,
  }, async () => {
    const repository = await git.createRepository("react-agent", await readExample("react-agent"));
    const { deployment, revision } = await deploy(plane, gitDeployment("traced-example", repository.url));
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const [project] = await projectsNamed("traced-example");
    const { body } = await app.call<{ tracer_session_id: string }>("GET", `/v2/deployments/${deployment.id}`);
    expect(body.tracer_session_id).toBe(project!.id);
    const result = await runOnce(deployment, "agent", "What is 6 * 7?");
    expect(result.messages.at(-1)!.content).toBe("The answer is 42.");
    const runs = await tracesOf("traced-example");
    const root = runs.find((run) => run.is_root)!;
    expect(JSON.stringify(root.inputs)).toContain("What is 6 * 7?");
    expect(JSON.stringify(root.outputs)).toContain("The answer is 42.");
    expect(runs.filter((run) => run.run_type === "TOOL").length).toBeGreaterThan(0);
    expect(runs.every((run) => run.project_id === project!.id)).toBe(true);
  });

  it("are sent with a service key of that deployment, which writes to its project for a month and does nothing else", {
    timeout: 60_000,
  }, async () => {
    const first = await environmentOf(await deployQuick("one-key-a"));
    const second = await environmentOf(await deployQuick("one-key-b"));
    expect(first).toMatchObject({
      LANGSMITH_TRACING: "true",
      LANGSMITH_ENDPOINT: `${url}/api/v1`,
      LANGSMITH_PROJECT: "one-key-a",
    });
    expect(second.LANGSMITH_API_KEY).not.toBe(first.LANGSMITH_API_KEY);
    expect(first.LANGSMITH_API_KEY).not.toBe(app.apiKey);
    const [key] = await managedKeys("one-key-a");
    expect(key).toMatchObject({
      name: "Traces of one-key-a",
      service: true,
      user_id: null,
      scopes: ["traces:write"],
    });
    const days = (new Date(key!.expires_at!).getTime() - Date.now()) / 86_400_000;
    expect([days > 29, days <= 30]).toEqual([true, true]);
    const headers = { "x-api-key": first.LANGSMITH_API_KEY! };
    const write = (session_name: string) =>
      app.call("POST", "/api/v1/runs", {
        headers,
        body: {
          id: crypto.randomUUID(),
          name: "a",
          run_type: "chain",
          start_time: new Date().toISOString(),
          session_name,
        },
      });
    expect((await write("one-key-a")).status).toBe(202);
    expect((await write("one-key-b")).status).toBe(403);
    for (const path of ["/v2/auth/tokens", "/v2/api-keys", "/api/v1/sessions", "/v2/deployments"]) {
      expect((await app.call("GET", path, { headers })).status, path).toBe(403);
    }
    // People's own keys are in the list; this one is not, so nobody revokes it while tidying up.
    const { body } = await app.call<KeyList>("GET", "/v2/api-keys?limit=100");
    expect(body.resources.map(({ managed }) => managed)).toEqual(body.resources.map(() => false));
  });

  it("go on with a new key when theirs is revoked, and no request is lost on the way", {
    timeout: 120_000,
  }, async () => {
    const deployment = await deployQuick("renewed");
    const elsewhere = await deployQuick("own-key", [{ name: "LANGSMITH_API_KEY", value: "a-key-of-my-own" }]);
    const before = await environmentOf(deployment);
    const others = await instancesOf(elsewhere);
    const [own] = await managedKeys("renewed");
    expect((await app.call("DELETE", `/v2/api-keys/${own!.id}`)).status).toBe(204);
    const statuses = new Set<number>();
    const after = await waitUntil(
      async () => {
        const answer = await fetch(`${deployment.url}/environment`);
        statuses.add(answer.status);
        const seen = (await answer.json()) as Record<string, string>;
        return seen.LANGSMITH_API_KEY === before.LANGSMITH_API_KEY ? undefined : seen;
      },
      { what: "a server with a new tracing key", timeoutMs: 60_000, intervalMs: 20 },
    );
    // Also while the older server ends.
    await waitUntil(
      async () => {
        statuses.add((await fetch(`${deployment.url}/environment`)).status);
        return (await instancesOf(deployment)).length === 1 ? true : undefined;
      },
      { what: "the older server to end", timeoutMs: 60_000, intervalMs: 20 },
    );
    expect([...statuses]).toEqual([200]);
    expect(after.LANGSMITH_HOST_REVISION_ID).toBe(before.LANGSMITH_HOST_REVISION_ID);
    expect(await managedKeys("renewed")).toHaveLength(1);

    const { body } = await app.call<RevisionBody>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`,
    );
    expect(body.status).toBe("DEPLOYED");
    const kinds = body.events.map(({ kind }) => kind);
    expect(kinds.slice(kinds.indexOf("tracing_key"))).toEqual(["tracing_key", "handed_over"]);
    const logs = await app.call("GET", `/v2/deployments/${deployment.id}/logs?level=WARNING&limit=1000`);
    expect(JSON.stringify(logs.body)).toContain("has been replaced");

    await runOnce(deployment);
    expect(await tracesOf("renewed")).not.toEqual([]);
    // One that sends its traces with a key of its owner's is none of our business.
    expect(await instancesOf(elsewhere)).toEqual(others);
  });

  it("go on with a new key while the older one still works, before it ends; then the older one is revoked", {
    timeout: 120_000,
  }, async () => {
    const deployment = await deployQuick("growing-old");
    const before = await environmentOf(deployment);
    const [own] = await managedKeys("growing-old");
    const { sql } = app.database;
    // As though three weeks had gone by.
    await raw`update deployment_tracing_keys set renew_at = now() where deployment_id = ${deployment.id}`.execute(
      sql,
    );
    // The next look at all deployments would find it, within a minute.
    await app.database.notify(deploymentChannel, deployment.id);
    await waitUntil(
      async () =>
        (await environmentOf(deployment)).LANGSMITH_API_KEY === before.LANGSMITH_API_KEY ? undefined : true,
      { what: "a server with a new tracing key", timeoutMs: 60_000, intervalMs: 100 },
    );
    expect((await managedKeys("growing-old")).map(({ id }) => id)).toContain(own!.id);
    await waitUntil(async () => ((await instancesOf(deployment)).length === 1 ? true : undefined), {
      what: "the older server to end",
      timeoutMs: 60_000,
      intervalMs: 100,
    });
    await raw`update api_keys set created_at = now() - interval '1 hour' where id = ${own!.id}`.execute(sql);
    await raw`update jobs set run_at = now() where kind = 'control_plane.maintain' and status = 'pending'`.execute(
      sql,
    );
    await app.database.notify(jobChannel, "due:control_plane.maintain");
    await waitUntil(
      async () => ((await managedKeys("growing-old")).some(({ id }) => id === own!.id) ? undefined : true),
      { what: "the end of the older key", timeoutMs: 30_000, intervalMs: 100 },
    );
    await runOnce(deployment);
    expect(await tracesOf("growing-old")).not.toEqual([]);
  });

  it("go where the owner says, and a tracing server that is down changes nothing about a run", {
    timeout: 60_000,
  }, async () => {
    const deployment = await deployQuick("elsewhere", [
      { name: "LANGSMITH_API_KEY", value: "a-key-of-my-own" },
      { name: "LANGSMITH_ENDPOINT", value: "http://127.0.0.1:9" },
    ]);
    expect(await environmentOf(deployment)).toMatchObject({
      LANGSMITH_API_KEY: "a-key-of-my-own",
      LANGSMITH_ENDPOINT: "http://127.0.0.1:9",
    });
    expect((await runOnce(deployment)).messages.at(-1)!.content).toBe("elsewhere");
    expect((await fetch(`${deployment.url}/ok`)).status).toBe(200);
    const off = await environmentOf(
      await deployQuick("untraced", [{ name: "LANGSMITH_TRACING", value: "false" }]),
    );
    expect(off.LANGSMITH_TRACING).toBe("false");
    expect(off).not.toHaveProperty("LANGSMITH_API_KEY");
    expect(off).not.toHaveProperty("LANGCHAIN_TRACING_V2");
  });

  it("stay when a deployment is deleted, and go with it when asked", { timeout: 90_000 }, async () => {
    const kept = await deployQuick("kept-traces");
    const gone = await deployQuick("gone-traces");
    for (const deployment of [kept, gone]) {
      await runOnce(deployment);
      await tracesOf(deployment.name);
    }
    await app.call("DELETE", `/v2/deployments/${kept.id}`);
    const answer = await app.call("DELETE", `/v2/deployments/${gone.id}?delete_tracing_project=true`);
    expect(answer.status).toBe(204);
    expect(await projectsNamed("kept-traces")).toHaveLength(1);
    expect(await projectsNamed("gone-traces")).toEqual([]);
    // Its server may have had the last word; the project is gone for good once nothing of it runs.
    await waitUntil(
      async () => {
        const [row] = await app.database.query<{ waits: boolean }>(
          {
            name: "test_waits",
            text: "select delete_tracing_project as waits from deployments where id = $1",
          },
          [gone.id],
        );
        return row?.waits === false ? true : undefined;
      },
      { what: "the second removal", timeoutMs: 30_000, intervalMs: 100 },
    );
    expect(await projectsNamed("gone-traces")).toEqual([]);
  });
});
