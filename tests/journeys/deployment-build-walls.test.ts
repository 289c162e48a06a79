import { randomUUID } from "node:crypto";
import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandsWith } from "../support/components/process-table.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const token = "ghp_the-token-of-one-workspace-only-012345";
let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];

beforeAll(async () => {
  site = await startDeploymentSite("build-walls", {
    git: { credentials: [{ username: "x-access-token", password: token }] },
  });
  ({ plane, git } = site);
});

afterAll(async () => {
  await site?.stop();
});

/** The same server, asked for another workspace. */
async function anotherWorkspace(name: string) {
  const { body } = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name });
  return {
    call: <Body>(method: string, path: string, sent?: unknown) =>
      plane.call<Body>(method, path, sent, { "x-tenant-id": body.id }),
  };
}

type Caller = Awaited<ReturnType<typeof anotherWorkspace>>;

async function integrationOf(caller: Caller): Promise<string> {
  const body = { name: "team", host: new URL(git.url).host, token };
  return (await caller.call<{ id: string }>("POST", "/v1/integrations/github", body)).body.id;
}

async function deployFrom(caller: Caller, name: string, url: string, more: object, ref = "main") {
  return deploy(caller, {
    ...gitDeployment(name, url),
    source_config: { repo_url: url, install_command: quickInstall, ...more },
    source_revision_config: { repo_ref: ref, graph_config_path: "langgraph.json" },
  });
}

describe("what one workspace has built", () => {
  it("is not another's, who knows the address and the commit but holds no credential", {
    timeout: 90_000,
  }, async () => {
    const repository = await git.createRepository("private", quickProject("private"));
    const owner = { call: plane.call };
    const integration_id = await integrationOf(owner);
    const first = await deployFrom(owner, "private", repository.url, { integration_id });
    expect(first.revision.status).toBe("DEPLOYED");
    const commit = await repository.resolve("main");
    const stranger = await anotherWorkspace("Stranger");
    const { revision } = await deployFrom(stranger, "private", repository.url, {}, commit);
    expect([revision.status, revision.status_message]).toEqual([
      "BUILD_FAILED",
      expect.stringContaining("needs a credential"),
    ]);
  });
});

/** Where builds report to one another how far they are: behind walls they share no folder. */
async function startSignals() {
  const given = new Set<string>();
  let path = "";
  const server = createServer((request, response) => {
    const [, verb, name = ""] = (request.url ?? "").split("/");
    if (verb === "set") given.add(name);
    if (verb === "tell") path = decodeURIComponent(name);
    response.end(verb === "path" ? path : String(given.has(name)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, given, close: () => server.close() };
}

describe("what a build leaves running", () => {
  it.each([
    ["the same workspace", 0o755, (): Promise<Caller> => Promise.resolve({ call: plane.call })],
    ["another workspace", 0o755, () => anotherWorkspace("Neighbour")],
    ["another workspace in a closed folder", 0o700, () => anotherWorkspace("Hidden")],
  ])(
    "changes neither a parallel build of %s nor its own result",
    {
      timeout: 120_000,
    },
    async (what, mode, callerOf) => {
      const caller = await callerOf();
      await chmod(site.folder.path, mode);
      const signals = await startSignals();
      const marker = `left-running-${randomUUID()}`;
      const wait = `const is = async (name) => (await (await fetch("${signals.url}/is/" + name)).text()) === "true";
const until = async (name) => { while (!(await is(name))) await new Promise((resolve) => setTimeout(resolve, 50)); };
`;
      const daemon = `// ${marker}
const { appendFileSync, readdirSync } = require("node:fs");
const names = (folder) => { try { return readdirSync(folder); } catch { return []; } };
const all = () => [
  ...names(${JSON.stringify(`${site.folder.path}/builds`)}).map((name) => ${JSON.stringify(`${site.folder.path}/builds/`)} + name + "/source/graph.js"),
  ...names(${JSON.stringify(`${site.folder.path}/artifacts`)}).map((name) => ${JSON.stringify(`${site.folder.path}/artifacts/`)} + name + "/graph.js"),
];
(async () => { for (;;) {
  const told = await (await fetch("${signals.url}/path")).text();
  for (const path of [...all(), told + "/graph.js"]) try { appendFileSync(path, "\\nthrow new Error('taken over');"); } catch {}
  await fetch("${signals.url}/set/tried").catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
} })();`;
      const hostile = quickProject("hostile");
      // Without its parent, its session, its output or the environment it was started with.
      hostile["install.js"] = `${wait}import { spawn } from "node:child_process";
import { copyFileSync } from "node:fs";
copyFileSync("graph.js", "other.js");
await until("victim-builds");
spawn(process.execPath, ["-e", ${JSON.stringify(daemon)}], { detached: true, stdio: "ignore", env: {} }).unref();
await until("tried");
copyFileSync("other.js", "graph.js");
${hostile["install.js"]}`;
      const victim = quickProject("victim");
      victim["install.js"] = `${wait}await fetch("${signals.url}/tell/" + encodeURIComponent(process.cwd()));
await fetch("${signals.url}/set/victim-builds");
await until("tried");
${victim["install.js"]}`;
      const [own, theirs] = [{ call: plane.call } as Caller, caller];
      const names = { victim: `victim ${what}`, hostile: `hostile ${what}` };
      const repositories = {
        victim: await git.createRepository(names.victim.replaceAll(" ", "-"), victim),
        hostile: await git.createRepository(names.hostile.replaceAll(" ", "-"), hostile),
      };
      git.setCredentials([]);
      const begun = async (who: Caller, kind: "victim" | "hostile") => {
        const { url } = repositories[kind];
        const source_config = { repo_url: url, install_command: quickInstall };
        const body = { ...gitDeployment(names[kind], url), source_config };
        return {
          who,
          kind,
          deployment: (await who.call<DeploymentBody>("POST", "/v2/deployments", body)).body,
        };
      };
      const both = [await begun(own, "victim"), await begun(theirs, "hostile")];
      for (const { who, kind, deployment } of both) {
        const done = await revisionDone(who, deployment.id, deployment.latest_revision_id!);
        // What a build does to itself while it runs is its own affair.
        if (kind === "victim")
          expect([done.status, done.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
        else expect(done.status).not.toBe("BUILD_FAILED");
      }
      git.setCredentials([{ username: "x-access-token", password: token }]);
      signals.close();
      expect(signals.given).toContain("tried");
      expect(await commandsWith(marker)).toEqual([]);
      const artifacts = join(site.folder.path, "artifacts");
      for (const name of await readdir(artifacts)) {
        const text = await readFile(join(artifacts, name, "graph.js"), "utf8");
        if (text.includes("victim")) expect(text).not.toContain("taken over");
        expect((await stat(join(artifacts, name))).uid).toBe(process.getuid!());
      }
    },
  );
});
