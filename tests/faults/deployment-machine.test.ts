import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let git: GitServer;
let folder: TempFolder;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("machine");
  git = await startGitServer();
});

afterAll(async () => {
  await git?.stop();
  await database?.drop();
  await folder?.remove();
});

async function quick(name: string, files = quickProject(name)) {
  const repository = await git.createRepository(name, files);
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  return gitDeployment(name, repository.url, { source_config });
}

describe("a full disk", () => {
  let plane: ControlPlaneServer;

  beforeAll(async () => {
    if (process.getuid?.() !== 0) throw new Error("A disk of its own needs root: run these tests as root.");
    await runCommand("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder.path]);
    plane = await startControlPlane({
      ...{ databaseUrl: database.url, folder: folder.path },
      settings: { compileCache: await compiledAgent() },
    });
  });

  afterAll(async () => {
    await plane?.stop();
    await runCommand("umount", [folder.path]);
  });

  it("fails the build with that reason, and leaves nothing behind", { timeout: 60_000 }, async () => {
    const big = Array.from({ length: 30 }, (_, index) => [`big-${index}.txt`, `${index}`.repeat(100_000)]);
    const { revision } = await deploy(
      plane,
      await quick("full", { ...quickProject("full"), ...Object.fromEntries(big) }),
    );
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("The disk of this machine is full");
    expect(await readdir(join(folder.path, "builds"))).toEqual([]);
  });

  it("fails an install that fills it", { timeout: 60_000 }, async () => {
    const install = 'import { writeFileSync } from "node:fs"; writeFileSync("big", Buffer.alloc(3_000_000));';
    const { revision } = await deploy(
      plane,
      await quick("filling", quickProject("filling", { "install.js": install })),
    );
    expect(revision.status).toBe("BUILD_FAILED");
    expect(revision.status_message).toContain("The disk of this machine is full");
  });
});

describe("two platforms on one database", () => {
  it("share the work: one runs the servers, both serve, and the other takes over", {
    timeout: 120_000,
  }, async () => {
    const settings = { compileCache: await compiledAgent() };
    const options = { databaseUrl: database.url, folder: folder.path, settings };
    const first = await startControlPlane({
      ...options,
      apiKey: "the-same-key-for-both-of-them",
      keepDatabases: true,
    });
    const second = await startControlPlane({
      ...options,
      apiKey: "the-same-key-for-both-of-them",
      workspaceId: first.workspaceId,
    });
    try {
      const { deployment, revision } = await deploy(second, await quick("shared"));
      expect(revision.status).toBe("DEPLOYED");
      for (const { url } of [first, second]) {
        const answer = await fetch(`${url}/d/${deployment.slug}/version`);
        expect(await answer.json()).toMatchObject({ answer: "shared" });
      }
      await first.stop();
      await waitUntil(async () => (await fetch(`${second.url}/d/${deployment.slug}/version`)).ok, {
        what: "the second to take over",
        timeoutMs: 60_000,
      });
    } finally {
      await second.stop();
    }
  });
});
