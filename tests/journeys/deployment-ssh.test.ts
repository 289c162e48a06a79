import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { startSshGitServer } from "../support/components/ssh-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let plane: ControlPlaneServer;
let ssh: Awaited<ReturnType<typeof startSshGitServer>>;
let folder: TempFolder;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("ssh-deployments");
  ssh = await startSshGitServer();
  plane = await startControlPlane({
    ...{ databaseUrl: database.url, folder: folder.path },
    settings: { compileCache: await compiledAgent() },
  });
}, 300_000);

afterAll(async () => {
  await plane?.stop();
  await ssh?.stop();
  await database?.drop();
  await folder?.remove();
});

async function deployWith(name: string, repoUrl: string, key: string | null) {
  const integration = key
    ? await plane.call<{ id: string }>("POST", "/v1/integrations/github", {
        name,
        host: "127.0.0.1",
        ssh_private_key: key,
      })
    : null;
  if (integration) expect([integration.status, integration.body]).toEqual([201, expect.any(Object)]);
  const source_config = {
    repo_url: repoUrl,
    install_command: quickInstall,
    ...(integration ? { integration_id: integration.body.id } : {}),
  };
  return deploy(plane, gitDeployment(name, repoUrl, { source_config }));
}

describe("a repository over ssh", () => {
  it("is read with the key of its integration, which no command of the build finds", {
    timeout: 120_000,
  }, async () => {
    const look = `import { existsSync } from "node:fs";
console.log("key " + existsSync(process.env.HOME + "/ssh_key") + existsSync(process.env.HOME + "/../ssh_key"));
`;
    const files = quickProject("over ssh");
    const repository = await ssh.createRepository("by-key", {
      ...files,
      "install.js": `${files["install.js"]}${look}`,
    });
    const { deployment, revision } = await deployWith("by-key", repository.url, ssh.privateKey);
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    expect(revision.source_revision_config.repo_commit_sha).toBe(await repository.resolve("main"));
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "over ssh" });
    const path = `/v2/deployments/${deployment.id}/revisions/${revision.id}/logs?type=build&limit=1000`;
    const logs = JSON.stringify((await plane.call("GET", path)).body);
    expect(logs).toContain("key falsefalse");
    expect(logs).not.toContain(ssh.privateKey.split("\n")[1]);
  });

  it("is not read with another key, or with none, and says what to do", { timeout: 60_000 }, async () => {
    const repository = await ssh.createRepository("closed", quickProject("closed"));
    const stranger = await deployWith("stranger", repository.url, ssh.strangerKey);
    expect(stranger.revision.status).toBe("BUILD_FAILED");
    expect(stranger.revision.status_message).toContain("refused the credential of the integration");
    const nobody = await deployWith("nobody", repository.url, null);
    expect([nobody.revision.status, nobody.revision.status_message]).toEqual([
      "BUILD_FAILED",
      expect.stringContaining("needs a credential"),
    ]);
  });
});
