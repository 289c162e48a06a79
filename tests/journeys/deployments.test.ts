import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureDebianPackages } from "../support/components/install-packages.ts";
import { runCommand } from "../support/components/run-command.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment, readExample } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];

beforeAll(async () => {
  site = await startDeploymentSite("deployments", { settings: { bakeMs: 500 } });
  ({ plane, git } = site);
});

afterAll(async () => {
  await site?.stop();
});

type Messages = { messages: { content: string }[] };
const said = (text: string) => ({ messages: [{ role: "user", content: text }] });

describe("the examples, deployed from a git server", () => {
  it("react-agent answers a run through the gateway", { timeout: 240_000 }, async () => {
    const repository = await git.createRepository("react-agent", await readExample("react-agent"));
    const secrets = [{ name: "GREETING", value: "Ahoy there" }];
    const body = gitDeployment("react-agent", repository.url, { secrets });
    const { deployment, revision } = await deploy(plane, body);
    expect(revision).toMatchObject({ status: "DEPLOYED", progress: 100 });
    expect(revision.source_revision_config.repo_commit_sha).toBe(await repository.resolve("main"));
    const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
    const thread = await client.threads.create();
    const result = await client.runs.wait(thread.thread_id, "agent", { input: said("What is 6 * 7?") });
    expect((result as Messages).messages.at(-1)!.content).toBe("The answer is 42.");
    const chunks = [];
    const options = { input: said("hi"), streamMode: ["updates" as const] };
    for await (const chunk of client.runs.stream(thread.thread_id, "agent", options)) chunks.push(chunk);
    expect(JSON.stringify(chunks)).toContain("Ahoy there! You said: hi");
  });

  it("multi-graph runs both graphs on one thread", { timeout: 240_000 }, async () => {
    const repository = await git.createRepository("multi-graph", await readExample("multi-graph"));
    const { deployment, revision } = await deploy(plane, gitDeployment("multi-graph", repository.url));
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "researcher", { input: said("loom") });
    const result = await client.runs.wait(thread.thread_id, "writer", { input: said("write") });
    expect((result as Messages).messages.at(-1)!.content).toBe("loom has 4 letters. loom backwards is mool.");
  });

  it("custom-route serves its own paths", { timeout: 240_000 }, async () => {
    const repository = await git.createRepository("custom-route", await readExample("custom-route"));
    const { deployment, revision } = await deploy(plane, gitDeployment("custom-route", repository.url));
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const hello = await fetch(`${deployment.url}/hello/world`);
    expect(await hello.json()).toEqual({ hello: "world", deployment: "custom-route" });
    const body = "x".repeat(3_000_000);
    const echo = await fetch(`${deployment.url}/echo`, { method: "POST", body });
    expect(await echo.text()).toBe(body);
    const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
    const thread = await client.threads.create();
    const result = await client.runs.wait(thread.thread_id, "counter", { input: said("go") });
    expect((result as Messages).messages.at(-1)!.content).toBe("Turn 1.");
  });
});

describe("sources", () => {
  const sourceConfig = (repo_url: string) => ({ repo_url, install_command: quickInstall });
  const answerOf = async (url: string) =>
    ((await (await fetch(`${url}/version`)).json()) as { answer: string }).answer;

  it("a tag, a commit, and a project inside a monorepo", { timeout: 120_000 }, async () => {
    const repository = await git.createRepository("versions", quickProject("first"));
    const first = await repository.resolve("main");
    await repository.tag("v1");
    const inner = Object.entries(quickProject("inner")).map(([path, text]) => [`apps/agent/${path}`, text]);
    await repository.commit({ ...quickProject("second"), ...Object.fromEntries(inner) }, "Second");
    const wanted = [
      ["by-tag", { repo_ref: "refs/tags/v1", graph_config_path: "langgraph.json" }, "first"],
      ["by-commit", { repo_ref: first, graph_config_path: "langgraph.json" }, "first"],
      ["monorepo", { repo_ref: "main", graph_config_path: "apps/agent/langgraph.json" }, "inner"],
    ] as const;
    for (const [name, source_revision_config, answer] of wanted) {
      const body = gitDeployment(name, repository.url, {
        source_config: sourceConfig(repository.url),
        source_revision_config,
      });
      const { deployment, revision } = await deploy(plane, body);
      expect([name, revision.status, revision.status_message]).toEqual([
        name,
        "DEPLOYED",
        expect.any(String),
      ]);
      expect(await answerOf(deployment.url)).toBe(answer);
    }
  });

  it("a folder of this machine, while the server listens on loopback", { timeout: 60_000 }, async () => {
    const repository = await git.createRepository("local", quickProject("local"));
    const repo_url = `file://${repository.path}`;
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment("local", repo_url, { source_config: sourceConfig(repo_url) }),
    );
    expect(revision.status).toBe("DEPLOYED");
    expect(await answerOf(deployment.url)).toBe("local");
  });
});

describe("the script for CI", () => {
  const script = fileURLToPath(new URL("../../docs/ci-deploy.sh", import.meta.url));
  const runWith = (key: string, ...args: string[]) =>
    runCommand("bash", [script, ...args], {
      timeoutMs: 90_000,
      env: {
        ...{ TREADLE_URL: plane.url, TREADLE_API_KEY: key, TREADLE_WORKSPACE_ID: plane.workspaceId },
        INSTALL_COMMAND: quickInstall,
      },
    });

  it("with --watch fails for a server that dies after it was deployed", { timeout: 120_000 }, async () => {
    await ensureDebianPackages(["curl", "jq"]);
    const run = (...args: string[]) => runWith(plane.apiKey, ...args);
    const repository = await git.createRepository("ci-dying", quickProject("dying"));
    const watching = run("deploy", "dying", repository.url, "main", "--watch", "60s");
    const failed = expect(watching).rejects.toThrow("The server did not stay");
    type Page = { resources: { url: string; health: { state: string } }[] };
    const url = await waitUntil(
      async () => {
        const { body } = await plane.call<Page>("GET", "/v2/deployments?name=dying");
        const [found] = body.resources;
        return found?.health.state === "serving" ? found.url : undefined;
      },
      { what: "the deployment to serve", timeoutMs: 60_000, intervalMs: 100 },
    );
    await fetch(`${url}/die`, { method: "POST" });
    await failed;
    await run("delete", "dying");
    const lasting = await git.createRepository("ci-lasting", quickProject("lasting"));
    const watched = await run("deploy", "lasting", lasting.url, "main", "--watch", "3s");
    expect(watched.stdout).toMatch(/DEPLOYED\nServing at http/);
    await run("delete", "lasting");
    await expect(run("deploy", "lasting", lasting.url, "main", "--watch", "soon")).rejects.toThrow(
      "60s or 2m",
    );
  });

  it("creates, updates and reports a failure with a key for that alone; admins delete", {
    timeout: 120_000,
  }, async () => {
    await ensureDebianPackages(["curl", "jq"]);
    const made = await plane.call<{ key: string }>("POST", "/v2/api-keys", {
      ...{ name: "ci", service: true, scopes: ["deploy"], expires_in_days: 90 },
    });
    expect(made.status).toBe(201);
    const run = (...args: string[]) => runWith(made.body.key, ...args);
    const repository = await git.createRepository("ci", quickProject("one"));
    const first = await run("deploy", "from-ci", repository.url, "main");
    expect(first.stdout).toMatch(/DEPLOYED\nServing at http/);
    const url = /Serving at (\S+)/.exec(first.stdout)![1]!;
    await repository.commit(quickProject("two"), "Two");
    await run("deploy", "from-ci", repository.url, "main");
    expect(await (await fetch(`${url}/version`)).json()).toMatchObject({ answer: "two" });
    await expect(run("deploy", "from-ci", repository.url, "nowhere")).rejects.toThrow(
      "no branch, tag or commit named nowhere",
    );
    await expect(run("delete", "from-ci")).rejects.toThrow("needs the role admin");
    await runWith(plane.apiKey, "delete", "from-ci");
    expect((await fetch(`${url}/version`)).status).toBe(404);
    await expect(runWith(plane.apiKey, "delete", "from-ci")).rejects.toThrow(
      "There is no deployment named from-ci",
    );
  });
});
