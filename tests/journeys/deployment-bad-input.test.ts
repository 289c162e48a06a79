import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessRuntime } from "../../src/control-plane/runtimes/process-runtime.ts";
import type { Handle, StartSpec } from "../../src/control-plane/runtimes/runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { machineWalls, packageRoot, treadleCommand } from "../support/control-plane.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let folder: DeploymentSite["folder"];
let scratch: TempFolder;
const squatters: Server[] = [];
let takePorts = 0;

/** The real runtime, on a machine where somebody takes the chosen port a moment earlier. */
class UnluckyRuntime extends ProcessRuntime {
  override async start(spec: StartSpec, signal: AbortSignal): Promise<Handle> {
    if (takePorts > 0) {
      takePorts -= 1;
      const squatter = createServer().listen(spec.port, "127.0.0.1");
      await new Promise((resolve) => squatter.once("listening", resolve));
      squatters.push(squatter);
    }
    return super.start(spec, signal);
  }
}

beforeAll(async () => {
  scratch = await createTempFolder("bad-input-scratch");
  site = await startDeploymentSite("bad-input", {
    runtime: new UnluckyRuntime({
      command: treadleCommand,
      packageRoot,
      walls: machineWalls(),
      logger: createLogger({ level: "silent" }),
    }),
    settings: { bakeMs: 200, drainMs: 2_000, buildMaxBytes: 5 * 1024 * 1024 },
  });
  ({ plane, git, folder } = site);
});

afterAll(async () => {
  for (const squatter of squatters) squatter.close();
  await site?.stop();
  await scratch?.remove();
});

async function quick(name: string, files = quickProject(name)) {
  const repository = await git.createRepository(name, files);
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  return { repository, body: gitDeployment(name, repository.url, { source_config }) };
}

describe("a port that somebody else takes", () => {
  it("is replaced by another", { timeout: 240_000 }, async () => {
    takePorts = 2;
    const { body } = await quick("clash");
    const { deployment, revision } = await deploy(plane, body);
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    expect(squatters).toHaveLength(2);
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "clash" });
  });

  it("fails the deploy with that reason when it happens every time", { timeout: 240_000 }, async () => {
    takePorts = 100;
    const { body } = await quick("always-clash");
    const { revision } = await deploy(plane, body);
    takePorts = 0;
    expect(revision.status).toBe("DEPLOY_FAILED");
    expect(revision.status_message).toContain("its port was taken by another process");
  });
});

describe("two changes at once", () => {
  it("both count: each makes a revision, the last one serves, and neither secret is lost", {
    timeout: 300_000,
  }, async () => {
    const { body } = await quick("both");
    const { deployment } = await deploy(plane, body);
    const path = `/v2/deployments/${deployment.id}`;
    const patches = await Promise.all(
      ["-a", "-b", "-c", "-d"].map((value) =>
        plane.call<DeploymentBody>("PATCH", path, { secrets: [{ name: "SUFFIX", value }] }),
      ),
    );
    expect(patches.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const ids = patches.map((answer) => answer.body.latest_revision_id!);
    expect(new Set(ids).size).toBe(4);
    const done = await Promise.all(ids.map((id) => revisionDone(plane, deployment.id, id)));
    const newest = done.toSorted((a: RevisionBody, b: RevisionBody) => b.number - a.number)[0]!;
    expect(done.map(({ number }) => number).toSorted()).toEqual([2, 3, 4, 5]);
    expect(newest.status).toBe("DEPLOYED");
    const winner = ["-a", "-b", "-c", "-d"][ids.indexOf(newest.id)];
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ suffix: winner });
    expect((await plane.call<DeploymentBody>("GET", path)).body.active_revision_id).toBe(newest.id);
  });
});

describe("a config file that is none", () => {
  it("fails the build and says where", async () => {
    const { body } = await quick("no-json", quickProject("x", { "langgraph.json": '{ "graphs": ' }));
    const { revision } = await deploy(plane, body);
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toMatch(/langgraph\.json cannot be used[\s\S]*JSON/);
  });
});

describe("archives that mean harm", () => {
  async function refusalOf(name: string, file: string): Promise<string> {
    const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", {
      ...{ name, source: "internal_source", source_config: {}, source_revision_config: {}, secrets: [] },
    });
    const path = `/v2/deployments/${created.body.id}`;
    const upload = await plane.call<{ upload_url: string; object_path: string }>(
      "POST",
      `${path}/upload-url`,
    );
    const put = await fetch(upload.body.upload_url, { method: "PUT", body: await readFile(file) });
    expect(put.status).toBe(200);
    const patched = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { source_tarball_path: upload.body.object_path },
    });
    const done = await revisionDone(plane, created.body.id, patched.body.latest_revision_id!);
    expect(done.status).toBe("BUILD_FAILED");
    expect(await readdir(join(folder.path, "builds"))).toEqual([]);
    return done.status_message ?? "";
  }
  const run = promisify(execFile);

  it("a link to this machine's files, and a file written through it", { timeout: 60_000 }, async () => {
    const source = join(scratch.path, "links");
    await mkdir(source);
    await symlink("/etc", join(source, "etc"));
    const file = join(scratch.path, "links.tar.gz");
    await run("tar", ["-czf", file, "-C", source, "etc"]);
    expect(await refusalOf("linked", file)).toContain("etc: is a link that leads out of the archive");
  });

  it("one that grows beyond every measure when it is unpacked", { timeout: 60_000 }, async () => {
    const source = join(scratch.path, "bomb");
    await mkdir(source);
    const block = () => Buffer.concat([randomBytes(64), Buffer.alloc(4_032)]);
    await writeFile(join(source, "zeros"), Buffer.concat(Array.from({ length: 10_000 }, block)));
    const file = join(scratch.path, "bomb.tar.gz");
    await run("tar", ["-czf", file, "-C", source, "zeros"]);
    expect(await refusalOf("bomb", file)).toContain("unpacks to more than");
  });

  it("one that is no archive at all", { timeout: 60_000 }, async () => {
    const file = join(scratch.path, "no.tar.gz");
    await writeFile(file, "certainly not a tarball");
    expect(await refusalOf("no-archive", file)).toContain("is not a readable .tar.gz");
  });
});
