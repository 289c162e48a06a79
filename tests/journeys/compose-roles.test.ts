import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { freePort } from "../support/components/free-port.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { startNginx, type TlsProxy } from "../support/components/proxies.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { type RoleProcess, RoleProcesses } from "../support/role-processes.ts";
import { useCephRgw } from "../support/shared-ceph.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

type Compose = {
  services: Record<string, { environment?: Record<string, string> }>;
  configs: { proxy: { content: string } };
};

/** `deploy/compose.roles.yaml` without Docker, whose images cannot be pulled here: its processes, and its nginx as Debian has it. */
const compose = parse(readFileSync("deploy/compose.roles.yaml", "utf8"), { merge: true }) as Compose;

let platform: RoleProcesses;
let git: GitServer;
let proxy: TlsProxy;
let through: Pick<RoleProcess, "call">;

beforeAll(async () => {
  const rgw = await useCephRgw();
  [platform, git] = await Promise.all([RoleProcesses.prepare(rgw), startGitServer()]);
  const started: Record<string, RoleProcess> = {};
  for (const [name, { environment }] of Object.entries(compose.services)) {
    if (environment?.TREADLE_ROLES) started[name] = await platform.start(environment.TREADLE_ROLES);
  }
  expect(Object.keys(started).sort()).toEqual(["api", "deployments", "worker"]);
  const port = await freePort();
  // Compose reads $$ as $, and its containers find one another by name.
  const config = compose.configs.proxy.content
    .replaceAll("$$", "$")
    .replace("listen 8124;", `listen 127.0.0.1:${port};`)
    .replace(/http:\/\/(\w+):8124/g, (_, name: string) => started[name]!.url);
  proxy = await startNginx({ http: [config], names: [] });
  through = started.api!.at(`http://127.0.0.1:${port}`);
});
afterAll(async () => {
  await proxy?.stop();
  await platform?.stop();
  await git?.stop();
});

test("its proxy sends runs to the api, which its worker executes, and requests of deployments to their gateway", async () => {
  const input = { messages: [{ role: "user", content: "composed" }] };
  const run = await through.call("POST", "/runs/wait", { assistant_id: "echo", input });
  expect(run.status).toBe(200);
  expect(JSON.stringify(run.body)).toContain("composed");
  const repository = await git.createRepository("composed", quickProject("from compose"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy(through, gitDeployment("composed", repository.url, { source_config }));
  expect(made.revision).toMatchObject({ status: "DEPLOYED" });
  expect(await through.call("GET", `/d/${made.deployment.slug}/version`)).toMatchObject({
    ...{ status: 200, body: { answer: "from compose" } },
  });
});
