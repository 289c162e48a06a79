import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GitFiles } from "../support/components/git-repository.ts";
import { commandsWith } from "../support/components/process-table.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const settings = { healthMs: 20_000, buildTimeoutMs: 20_000, buildMaxBytes: 5_000_000, bakeMs: 100 };
let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let folder: DeploymentSite["folder"];
let scratch: TempFolder;
let count = 0;

beforeAll(async () => {
  scratch = await createTempFolder("failures-scratch");
  site = await startDeploymentSite("failures", { settings });
  ({ plane, git, folder } = site);
});

afterAll(async () => {
  await site?.stop();
  await scratch?.remove();
});

async function deployFiles(
  files: GitFiles,
  more: { ref?: string; config?: string; source?: object; on?: DeploymentSite } = {},
) {
  count += 1;
  const name = `bad-${count}`;
  const { git, plane } = more.on ?? site;
  const repository = await git.createRepository(name, files);
  return deploy(plane, {
    ...gitDeployment(name, repository.url),
    source_config: { repo_url: repository.url, install_command: quickInstall, ...more.source },
    source_revision_config: {
      repo_ref: more.ref ?? "main",
      graph_config_path: more.config ?? "langgraph.json",
    },
  });
}

/** Nothing half-made may stay behind. */
async function expectClean(deploymentId: string, { folder, database } = site): Promise<void> {
  expect(await readdir(join(folder.path, "builds"))).toEqual([]);
  await waitUntil(
    async () => {
      const rows = await database.database.query<{ count: number }>(
        {
          name: "test_3",
          text: "select count(*)::int as count from deployment_instances where deployment_id = $1 and state <> 'exited'",
        },
        [deploymentId],
      );
      return rows[0]!.count === 0;
    },
    { what: "its servers to be gone", timeoutMs: 15_000 },
  );
}

describe("builds that cannot work say what to change", () => {
  it("an unreachable repository", async () => {
    const { revision } = await deploy(plane, gitDeployment("unreachable", "http://127.0.0.1:9/none.git"));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("cannot be reached");
  });

  it("a repository that does not exist", async () => {
    const { revision } = await deploy(plane, gitDeployment("absent", `${git.url}/absent.git`));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("is not a git repository");
  });

  it("a ref that does not exist", async () => {
    const { deployment, revision } = await deployFiles(quickProject("x"), { ref: "no-such-branch" });
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("has no branch, tag or commit named no-such-branch");
    await expectClean(deployment.id);
  });

  it("a missing config file", async () => {
    const { revision } = await deployFiles(quickProject("x"), { config: "apps/langgraph.json" });
    expect(revision.status_message).toContain("There is no file apps/langgraph.json");
  });

  it("a config file with several mistakes names them all", async () => {
    const wrong = JSON.stringify({ graphs: { a: 5 }, http: { disable_runs: "yes" } });
    const { revision } = await deployFiles(quickProject("x", { "langgraph.json": wrong }));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toMatch(/graphs\.a/);
    expect(revision.status_message).toMatch(/http\.disable_runs/);
  });

  it("a graph file that does not exist", async () => {
    const config = JSON.stringify({ graphs: { a: "./missing.ts:graph" } });
    const { revision } = await deployFiles(quickProject("x", { "langgraph.json": config }));
    expect(revision.status_message).toContain("names files that do not exist: ./missing.ts");
  });

  it("an install that fails shows its last lines", async () => {
    const { deployment, revision } = await deployFiles(
      quickProject("x", { "install.js": 'console.error("the disk smells funny"); process.exit(9);' }),
    );
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("the disk smells funny");
    expect(revision.failure).toMatchObject({ file: null, output: ["the disk smells funny"] });
    const path = `/v1/projects/${deployment.id}/revisions/${revision.id}/build_logs`;
    const logs = await plane.call<{ logs: { message: string; level: string }[] }>("POST", path, {
      order: "desc",
      limit: 30,
    });
    expect(logs.body.logs.some(({ message }) => message.includes("the disk smells funny"))).toBe(true);
    await expectClean(deployment.id);
  });

  it("a build that is too large", async () => {
    const { revision } = await deployFiles(
      quickProject("x", {
        "install.js":
          'import { writeFileSync } from "node:fs"; writeFileSync("big.bin", Buffer.alloc(6_000_000));',
      }),
    );
    expect(revision.status_message).toContain("TREADLE_BUILD_MAX_MB");
  });

  it("a command that is not installed", async () => {
    const { revision } = await deployFiles(quickProject("x"), {
      source: { install_command: "no-such-tool install" },
    });
    expect(revision.status_message).toContain("no-such-tool is not installed");
  });

  it("a link that leads out of the source", async () => {
    const repository = await git.createRepository("links", quickProject("x"));
    const work = join(scratch.path, "links");
    const run = promisify(execFile);
    const environment = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null" };
    await run("git", ["clone", "-q", repository.url, work], { env: environment });
    await symlink("/etc/passwd", join(work, "passwords"));
    const author = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
    await run("git", [...author, "add", "-A"], { cwd: work, env: environment });
    await run("git", [...author, "commit", "-qm", "link"], { cwd: work, env: environment });
    await run("git", ["push", "-q"], { cwd: work, env: environment });
    const { revision } = await deploy(plane, gitDeployment("links", repository.url));
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("passwords");
  });
});

describe("servers that cannot work say why", () => {
  it("a graph that throws when it is loaded", async () => {
    const { deployment, revision } = await deployFiles(
      quickProject("x", { "graph.js": 'throw new Error("the moon is in the wrong phase");' }),
    );
    expect(revision.status).toBe("DEPLOY_FAILED");
    expect(revision.status_message).toContain("the moon is in the wrong phase");
    const reason = "the moon is in the wrong phase.";
    expect(revision.failure).toMatchObject({ file: "graph.js", line: 1, reason });
    const failed = await plane.call<{ resources: { id: string; status: string }[] }>(
      "GET",
      "/v2/deployments?status=FAILED&limit=100",
    );
    expect(failed.body.resources.find(({ id }) => id === deployment.id)).toMatchObject({ status: "FAILED" });
    const waiting = await plane.call("GET", "/v2/deployments?status=AWAITING_DATABASE&limit=100");
    expect(JSON.stringify(waiting.body)).not.toContain(deployment.id);
    await expectClean(deployment.id);
    expect((await fetch(`${deployment.url}/ok`)).status).toBe(503);
  });

  it("a server that ends at once", async () => {
    const { revision } = await deployFiles(
      quickProject("x", { "graph.js": 'console.error("goodbye, cruel world"); process.exit(12);' }),
    );
    expect(revision.status).toBe("DEPLOY_FAILED");
    expect(revision.status_message).toContain("exit code 12");
    expect(revision.status_message).toContain("goodbye, cruel world");
    expect(revision.status_message).not.toContain("migration applied");
    expect(revision.failure?.output).toContain("goodbye, cruel world");
  });

  it("a package that nobody installed, by the line that imports it", async () => {
    const { revision } = await deployFiles(
      quickProject("x", { "graph.js": '\nimport "no-such-package-at-all";\n' }),
    );
    expect(revision.status).toBe("DEPLOY_FAILED");
    const reason = expect.stringContaining("Cannot find package 'no-such-package-at-all'");
    expect(revision.failure).toMatchObject({ file: "graph.js", line: 2, reason });
  });

  it("an image on a runtime that has no images is refused at once", async () => {
    const body = {
      ...{ name: "image", source: "external_docker", secrets: [] },
      ...{ source_config: {}, source_revision_config: { image_uri: "example.com/agent:1" } },
    };
    const answer = await plane.call<{ detail: string }>("POST", "/v2/deployments", body);
    expect([answer.status, answer.body.detail]).toEqual([
      400,
      expect.stringContaining("TREADLE_RUNTIME=docker"),
    ]);
  });
});

// Each waits for a limit to run out, on a site of its own, beside the other.
describe.concurrent("what never ends is stopped", { timeout: 120_000 }, () => {
  async function withSite(name: string, work: (on: DeploymentSite) => Promise<void>): Promise<void> {
    const on = await startDeploymentSite(name, { settings });
    try {
      await work(on);
    } finally {
      await on.stop();
    }
  }

  it("an install, with everything it started", () =>
    withSite("endless-install", async (on) => {
      const seconds = `600.${Date.now()}`;
      const files = quickProject("x", {
        "install.js": `import { spawn } from "node:child_process";
spawn("sleep", ["${seconds}"], { detached: true }); console.log("sleeping"); setInterval(() => {}, 1000);`,
      });
      const { deployment, revision } = await deployFiles(files, { on });
      expect(revision.status).toBe("BUILD_FAILED");
      expect(revision.status_message).toContain("TREADLE_BUILD_TIMEOUT_SECONDS");
      expect(await commandsWith(`sleep\0${seconds}`)).toEqual([]);
      await expectClean(deployment.id, on);
    }));

  it("a server that never becomes healthy", () =>
    withSite("endless-start", async (on) => {
      const files = quickProject("x", {
        "graph.js":
          'console.log("still thinking"); await new Promise((resolve) => setTimeout(resolve, 600_000));',
      });
      const { deployment, revision } = await deployFiles(files, { on });
      expect(revision.status).toBe("DEPLOY_FAILED");
      expect(revision.status_message).toMatch(/not healthy after 20 s/);
      expect(revision.status_message).toContain("still thinking");
      await expectClean(deployment.id, on);
    }));
});

describe("a failed revision", () => {
  it("leaves the earlier one serving, and can be interrupted or overtaken by a delete", {
    timeout: 60_000,
  }, async () => {
    const repository = await git.createRepository("stays", quickProject("good"));
    const { deployment, revision } = await deploy(plane, {
      ...gitDeployment("stays", repository.url),
      source_config: { repo_url: repository.url, install_command: quickInstall },
    });
    expect(revision.status).toBe("DEPLOYED");
    const path = `/v2/deployments/${deployment.id}`;
    const bad = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { repo_ref: "nowhere" },
    });
    expect(bad.status).toBe(200);
    expect((await revisionDone(plane, deployment.id, bad.body.latest_revision_id!)).status).toBe(
      "BUILD_FAILED",
    );
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "good" });

    await repository.commit(quickProject("slow", { "install.js": "setInterval(() => {}, 1000);" }), "Slow");
    const slow = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { repo_ref: "main" },
    });
    const id = slow.body.latest_revision_id!;
    const status = async () => (await plane.call<RevisionBody>("GET", `${path}/revisions/${id}`)).body.status;
    await waitUntil(async () => (await status()) === "BUILDING", { what: "the build", timeoutMs: 10_000 });
    const interrupted = await plane.call<RevisionBody>("POST", `${path}/revisions/${id}/interruption`);
    expect(interrupted.body.status).toBe("INTERRUPTED");
    expect((await plane.call("POST", `${path}/revisions/${id}/interrupt`)).status).toBe(409);
    await waitUntil(async () => (await readdir(join(folder.path, "builds"))).length === 0, {
      what: "the build to be gone",
      timeoutMs: 10_000,
    });

    const again = await plane.call<RevisionBody>("POST", `${path}/revisions`, {});
    expect(again.status).toBe(201);
    await waitUntil(async () => (await readdir(join(folder.path, "builds"))).length === 1, {
      what: "the next build",
      timeoutMs: 10_000,
    });
    expect((await plane.call("DELETE", path)).status).toBe(204);
    await expect.poll(() => readdir(join(folder.path, "builds")), { timeout: 10_000 }).toEqual([]);
    await expectClean(deployment.id);
  });
});

describe("source archives", () => {
  async function upload(deploymentId: string, file: string) {
    const { body } = await plane.call<{ upload_url: string; object_path: string }>(
      "POST",
      `/v2/deployments/${deploymentId}/upload-url`,
    );
    const put = await fetch(body.upload_url, {
      method: "PUT",
      headers: { "content-type": "application/gzip" },
      body: await readFile(file),
    });
    return { ...body, status: put.status };
  }
  const empty = (name: string) => ({
    name,
    source: "internal_source",
    source_config: {},
    source_revision_config: {},
    secrets: [],
  });

  async function archive(name: string, files: Record<string, string>): Promise<string> {
    const source = join(scratch.path, name);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(source, path, ".."), { recursive: true });
      await writeFile(join(source, path), text);
    }
    const file = join(scratch.path, `${name}.tar.gz`);
    await create({ gzip: true, file, cwd: source }, Object.keys(files));
    return file;
  }

  it("are uploaded, built and served", { timeout: 60_000 }, async () => {
    const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", empty("uploaded"));
    expect(created.body.latest_revision_id).toBeNull();
    const file = await archive("uploaded", quickProject("uploaded") as Record<string, string>);
    const { object_path, status, upload_url } = await upload(created.body.id, file);
    expect(status).toBe(200);
    const twice = await fetch(upload_url, { method: "PUT", body: "again" });
    expect(twice.status).toBe(403);
    const patched = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${created.body.id}`, {
      revision_source: "internal_source",
      source_revision_config: { source_tarball_path: object_path, langgraph_config_path: "langgraph.json" },
      source_config: { install_command: quickInstall },
      tracked_packages: [],
    });
    expect(patched.status).toBe(200);
    const done = await revisionDone(plane, created.body.id, patched.body.latest_revision_id!);
    expect(done).toMatchObject({ status: "DEPLOYED" });
    expect(await (await fetch(`${created.body.url}/version`)).json()).toMatchObject({ answer: "uploaded" });
  });

  it("are refused by a path nobody handed out", async () => {
    const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", empty("guessed"));
    const patched = await plane.call("PATCH", `/v2/deployments/${created.body.id}`, {
      source_revision_config: { source_tarball_path: "../../etc/passwd" },
    });
    expect(patched.status).toBe(400);
  });

  it("are refused when they are too large, before a byte is read", async () => {
    const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", empty("huge"));
    const path = `/v2/deployments/${created.body.id}/upload-url`;
    const { body } = await plane.call<{ upload_url: string }>("POST", path);
    const status = await new Promise((resolve, reject) => {
      const headers = { "content-length": String(201 * 1024 * 1024) };
      const outgoing = request(body.upload_url, { method: "PUT", headers }, (response) => {
        resolve(response.statusCode);
        outgoing.destroy();
      });
      outgoing.once("error", reject);
      outgoing.flushHeaders();
    });
    expect(status).toBe(413);
  });

  it("cannot write outside their folder", { timeout: 60_000 }, async () => {
    const evil = join(scratch.path, "evil.tar.gz");
    await mkdir(join(scratch.path, "evil"), { recursive: true });
    await writeFile(join(scratch.path, "escaped.txt"), "out");
    await promisify(execFile)("tar", ["-czPf", evil, "-C", join(scratch.path, "evil"), "../escaped.txt"]);
    const created = await plane.call<DeploymentBody>("POST", "/v2/deployments", empty("evil"));
    const { object_path } = await upload(created.body.id, evil);
    const patched = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${created.body.id}`, {
      source_revision_config: { source_tarball_path: object_path },
    });
    const done = await revisionDone(plane, created.body.id, patched.body.latest_revision_id!);
    expect(done.status).toBe("BUILD_FAILED");
    expect(done.status_message).toContain("leads out of the archive");
  });
});
