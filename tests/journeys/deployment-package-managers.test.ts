import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandsWith } from "../support/components/process-table.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let folder: DeploymentSite["folder"];

beforeAll(async () => {
  site = await startDeploymentSite("package-managers", { folderMode: 0o711 });
  ({ plane, git, folder } = site);
});

afterAll(async () => {
  await site?.stop();
});

const lockFile = (name: string) =>
  readFile(fileURLToPath(new URL(`../support/lock-files/${name}`, import.meta.url)), "utf8");

const graph = `import { AIMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async () => ({ messages: [new AIMessage(process.env.ANSWER ?? "installed")] }))
  .addEdge(START, "answer")
  .addEdge("answer", END)
  .compile();
`;
const manifest = (more: object = {}) =>
  JSON.stringify({
    ...{ name: "managed", private: true, type: "module" },
    dependencies: { "@langchain/core": "1.2.13", "@langchain/langgraph": "1.4.18" },
    ...more,
  });

async function buildLines(deploymentId: string, revisionId: string): Promise<string[]> {
  const path = `/v2/deployments/${deploymentId}/revisions/${revisionId}/logs?type=build&limit=1000`;
  const { body } = await plane.call<{ logs: { message: string }[] }>("GET", path);
  return body.logs.map(({ message }) => message);
}

describe("lock files of other package managers", () => {
  it.each([
    ["pnpm", "pnpm-lock.yaml", "pnpm-lock.yaml", "pnpm install --frozen-lockfile", {}],
    [
      "pnpm-pinned",
      "pnpm-lock.yaml",
      "pnpm-lock.yaml",
      "pnpm install --frozen-lockfile",
      { packageManager: "pnpm@9.15.9" },
    ],
    ["yarn", "yarn.lock", "yarn-classic.lock", "yarn install --frozen-lockfile", {}],
    ["yarn-modern", "yarn.lock", "yarn-modern.lock", "yarn install --immutable", {}],
    ["bun", "bun.lock", "bun.lock", "bun install --frozen-lockfile", {}],
  ] as const)("%s", { timeout: 240_000 }, async (name, file, fixture, command, more) => {
    const repository = await git.createRepository(name, {
      "package.json": manifest(more),
      "langgraph.json": JSON.stringify({ graphs: { graph: "./graph.js:graph" } }),
      "graph.js": graph,
      [file]: await lockFile(fixture),
    });
    const { deployment, revision } = await deploy(plane, gitDeployment(name, repository.url));
    const lines = await buildLines(deployment.id, revision.id);
    expect([revision.status, revision.status_message, lines.slice(-15)]).toEqual([
      "DEPLOYED",
      expect.any(String),
      expect.any(Array),
    ]);
    expect(lines.some((line) => line.startsWith(`$ ${command}`))).toBe(true);
    const client = new Client({ apiUrl: deployment.url, apiKey: plane.apiKey });
    const thread = await client.threads.create();
    const result = await client.runs.wait(thread.thread_id, "graph", { input: { messages: [] } });
    expect(JSON.stringify(result)).toContain("installed");
    await plane.call("DELETE", `/v2/deployments/${deployment.id}`);
  });

  it("a lock file that does not fit fails the build with the manager's words", {
    timeout: 120_000,
  }, async () => {
    const repository = await git.createRepository("misfit", {
      "package.json": manifest({ dependencies: { "@langchain/core": "1.2.0" } }),
      "langgraph.json": JSON.stringify({ graphs: { graph: "./graph.js:graph" } }),
      "graph.js": graph,
      "pnpm-lock.yaml": await lockFile("pnpm-lock.yaml"),
    });
    const { revision } = await deploy(plane, gitDeployment("misfit", repository.url));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toMatch(
      /install failed \(pnpm install --frozen-lockfile[\s\S]*OUTDATED_LOCKFILE/,
    );
  });
});

describe("the commands of a build", () => {
  it("run as nobody in particular, find no keys, and leave nothing running", {
    timeout: 60_000,
  }, async () => {
    const seconds = `300.${Date.now()}`;
    const probe = `import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
const look = (path) => { try { return readdirSync(path).join(" "); } catch (error) { return error.code; } };
const read = (path) => { try { readFileSync(path); return "read"; } catch (error) { return error.code; } };
console.log("uid " + process.getuid());
console.log("artifacts " + look(${JSON.stringify(join(folder.path, "artifacts"))}));
console.log("shadow " + read("/etc/shadow"));
console.log("environment " + Object.keys(process.env).filter((name) => /TREADLE|DATABASE|SECRET/.test(name)).join(" "));
spawn("sleep", ["${seconds}"], { detached: true, stdio: "ignore" }).unref();
writeFileSync("made-by-the-build", "x", { mode: 0o600 });
`;
    const repository = await git.createRepository("probe", {
      "package.json": manifest(),
      "langgraph.json": JSON.stringify({ graphs: { graph: "./graph.js:graph" } }),
      "graph.js": graph,
      "probe.js": probe,
    });
    const source_config = { repo_url: repository.url, install_command: "node probe.js" };
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment("probe", repository.url, { source_config }),
    );
    const lines = await buildLines(deployment.id, revision.id);
    const said = (word: string) => lines.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
    expect(said("environment") ?? "").toBe("");
    expect(await commandsWith(`sleep\0${seconds}`)).toEqual([]);
    const [artifact] = await readdir(join(folder.path, "artifacts")).then((names) => names.slice(-1));
    expect(artifact).toBeDefined();
    if (process.getuid?.() === 0) {
      expect(Number(said("uid"))).toBeGreaterThanOrEqual(300_000);
      // Behind walls they are not there at all.
      for (const found of [said("artifacts"), said("shadow")]) expect(found).toMatch(/^(EACCES|ENOENT)$/);
    }
  });
});
