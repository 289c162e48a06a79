import { chmod, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRunning } from "../support/components/process-table.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const token = "ghp_the-token-of-one-workspace-only-012345";
let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let scratch: TempFolder;

beforeAll(async () => {
  scratch = await createTempFolder("walls");
  site = await startDeploymentSite("build-walls", {
    folderMode: 0o755,
    git: { credentials: [{ username: "x-access-token", password: token }] },
  });
  ({ plane, git } = site);
});

afterAll(async () => {
  await site?.stop();
  await scratch?.remove();
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
      expect.stringContaining("asks for a credential"),
    ]);
  });
});

describe("what a build leaves running", () => {
  it.each([
    ["the same workspace", (): Promise<Caller> => Promise.resolve({ call: plane.call })],
    ["another workspace", () => anotherWorkspace("Neighbour")],
  ])(
    "changes neither a parallel build of %s nor its own result",
    { timeout: 120_000 },
    async (what, callerOf) => {
      const caller = await callerOf();
      const place = join(scratch.path, what.replaceAll(" ", "-"));
      await mkdir(place, { mode: 0o777 });
      await chmod(place, 0o777);
      await chmod(scratch.path, 0o755);
      const at = (name: string) => JSON.stringify(join(place, name));
      const wait = `import { existsSync, writeFileSync } from "node:fs";
const until = async (path) => { while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 20)); };
`;
      // Without its parent, its session, its output or the environment it was started with.
      const loop = `echo $$ > ${join(place, "pid")}; while :; do for file in ${site.folder.path}/builds/*/source/graph.js ${site.folder.path}/artifacts/*/graph.js; do echo 'throw new Error("taken over");' >> $file; done; touch ${join(place, "tried")}; sleep 0.02; done`;
      const hostile = quickProject("hostile");
      hostile["install.js"] = `${wait}import { spawnSync } from "node:child_process";
await until(${at("victim-builds")});
spawnSync("sh", ["-c", ${JSON.stringify(`env -i PATH=/usr/bin:/bin setsid sh -c "$LOOP" > /dev/null 2>&1 < /dev/null & exit 0`)}], { env: { ...process.env, LOOP: ${JSON.stringify(loop)} } });
await until(${at("tried")});
${hostile["install.js"]}`;
      const victim = quickProject("victim");
      victim["install.js"] = `${wait}writeFileSync(${at("victim-builds")}, "");
await until(${at("tried")});
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
        const body = {
          ...gitDeployment(names[kind], url),
          source_config: { repo_url: url, install_command: quickInstall },
        };
        return { who, deployment: (await who.call<DeploymentBody>("POST", "/v2/deployments", body)).body };
      };
      const both = [await begun(own, "victim"), await begun(theirs, "hostile")];
      for (const { who, deployment } of both) {
        const done = await revisionDone(who, deployment.id, deployment.latest_revision_id!);
        expect([deployment.name, done.status, done.status_message]).toEqual([
          deployment.name,
          "DEPLOYED",
          expect.any(String),
        ]);
      }
      git.setCredentials([{ username: "x-access-token", password: token }]);
      expect(isRunning(Number(await readFile(join(place, "pid"), "utf8")))).toBe(false);
      const artifacts = join(site.folder.path, "artifacts");
      for (const name of await readdir(artifacts)) {
        expect(await readFile(join(artifacts, name, "graph.js"), "utf8")).not.toContain("taken over");
        expect((await stat(join(artifacts, name))).uid).toBe(process.getuid!());
      }
    },
  );
});
