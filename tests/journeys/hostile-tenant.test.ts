import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerRuntime } from "../../src/control-plane/runtimes/docker-runtime.ts";
import { createWalls } from "../../src/control-plane/sandbox/walls.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { packageRoot, treadleCommand } from "../support/control-plane.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { type HostileReports, type HostileTargets, hostileProject } from "../support/hostile-project.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const gitToken = "ghp_the-token-of-the-victim-0123456789abcd";
const platformSecret = "only-the-platform-knows-this";
/** In every file, environment and row that is not the hostile project's. */
const secrets = [gitToken, platformSecret, "the-victims-own-secret"];

type Place = { site: DeploymentSite; stop(): Promise<void> };

const git = { credentials: [{ username: "x-access-token", password: gitToken }] };
const settings = { bakeMs: 0 };

async function withUsers(): Promise<Place> {
  // No bubblewrap to be found: each deployment is a user of its own.
  const walls = createWalls({
    setting: "auto",
    mustPass: [process.execPath, packageRoot],
    path: "/nonexistent",
  });
  expect((await walls.isolation()).kind).toBe("users");
  const site = await startDeploymentSite("hostile-users", { git, settings, walls, folderMode: 0o755 });
  return { site, stop: () => site.stop() };
}

async function sandboxed(): Promise<Place> {
  await ensureBubblewrap();
  const site = await startDeploymentSite("hostile-sandbox", {
    git,
    settings: { ...settings, isolation: "required" },
  });
  return { site, stop: () => site.stop() };
}

async function inContainers(): Promise<Place> {
  await ensureBubblewrap();
  const docker: Docker = await startDocker();
  const baseImage = await docker.buildNodeImage();
  let site: DeploymentSite | undefined;
  const url = { database: "", platform: "" };
  const runtime = createDockerRuntime({
    ...{ socketPath: docker.socketPath, baseImage, subnets: docker.subnets, allowRoot: false },
    command: ["node", ...treadleCommand.slice(1)],
    binds: [`${packageRoot}:${packageRoot}:ro`],
    logger: createLogger({ level: "silent" }),
    reach: {
      get databaseUrl() {
        return url.database;
      },
      platformUrl: () => url.platform,
    },
  });
  try {
    site = await startDeploymentSite("hostile-docker", { git, settings, runtime });
    url.database = site.database.url;
    url.platform = site.plane.url;
  } catch (error) {
    await docker.stop();
    throw error;
  }
  const started = site;
  return {
    site: started,
    stop: async () => {
      await started.stop();
      await docker.stop();
    },
  };
}

/** What a runtime does not promise, each with the sentence of docs/security.md that says so. */
type Runtime = {
  name: string;
  start(): Promise<Place>;
  leaves: Partial<Record<"build" | "server", RegExp[]>>;
};

const runtimes: Runtime[] = [
  // The kernel may let everybody make namespaces; what they have there counts nowhere else.
  {
    name: "users",
    start: withUsers,
    leaves: { build: [/^a namespace with rights$/], server: [/^a namespace with rights$/] },
  },
  { name: "sandbox", start: sandboxed, leaves: {} },
  { name: "docker", start: inContainers, leaves: {} },
];

for (const { name, start, leaves } of runtimes) {
  describe(`a hostile project, runtime ${name}`, () => {
    let place: Place;
    let bystander: ChildProcess;
    beforeAll(async () => {
      process.env.PLATFORM_ONLY = platformSecret;
      bystander = spawn("sleep", ["600"], { stdio: "ignore" });
      place = await start();
    }, 240_000);
    afterAll(async () => {
      delete process.env.PLATFORM_ONLY;
      bystander?.kill();
      await place?.stop();
    });

    it("gets at nothing but its own: in its build, at its start and in its routes", {
      timeout: 240_000,
    }, async () => {
      const { site } = place;
      const { targets, victimHeaders } = await prepareTargets(site, bystander.pid!);
      const repository = await site.git.createRepository("hostile", hostileProject(targets));
      const { deployment, revision } = await deploy(
        site.plane,
        await bodyFor(site, site.plane, "hostile", repository.url),
      );
      expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.anything()]);
      const answer = await fetch(`${site.plane.url}/d/${deployment.slug}/attack`, {
        method: "POST",
        headers: { "x-api-key": site.plane.apiKey, "x-tenant-id": site.plane.workspaceId },
      });
      expect(answer.status).toBe(200);
      const reports = (await answer.json()) as HostileReports;
      const succeeded = Object.entries(reports).flatMap(([moment, { attempts }]) => {
        const left = leaves[moment === "build" ? "build" : "server"] ?? [];
        return Object.entries(attempts)
          .filter(([what, { refused }]) => refused === undefined && !left.some((known) => known.test(what)))
          .map(([what, { got }]) => `${moment}: ${what}: ${JSON.stringify(got).slice(0, 200)}`);
      });
      expect(succeeded).toEqual([]);
      for (const secret of secrets) expect(JSON.stringify(reports)).not.toContain(secret);
      for (const [moment, { controls }] of Object.entries(reports)) {
        for (const [what, { got, refused }] of Object.entries(controls)) {
          expect([moment, what, refused]).toEqual([moment, what, undefined]);
          expect(got, `${moment}: ${what}`).not.toBeNull();
        }
      }
      // The database is told to servers, not to builds.
      expect(reports.route.controls).toHaveProperty(["its own database"]);
      expect(Object.keys(reports.route.attempts).length).toBeGreaterThan(60);
      // The other deployment goes on, and nobody has changed it.
      const victim = await fetch(`${site.plane.url}/d/${targets.victim.slug}/version`, {
        headers: victimHeaders,
      });
      expect(await victim.json()).toMatchObject({ answer: "victim" });
    });
  });
}

async function bodyFor(site: DeploymentSite, caller: PlaneCalls, name: string, url: string) {
  const integration = await caller.call<{ id: string }>("POST", "/v1/integrations/github", {
    name,
    host: new URL(site.git.url).host,
    token: gitToken,
  });
  const source_config = { repo_url: url, install_command: quickInstall, integration_id: integration.body.id };
  return gitDeployment(name, url, { source_config });
}

type Prepared = { targets: HostileTargets; victimHeaders: Record<string, string> };

/** Another workspace's deployment with a secret of its own, and files and processes of the platform. */
async function prepareTargets(site: DeploymentSite, bystanderPid: number): Promise<Prepared> {
  const { plane } = site;
  const { body: workspace } = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Victims" });
  const headers = { "x-tenant-id": workspace.id };
  const victims: PlaneCalls = { call: (method, path, body) => plane.call(method, path, body, headers) };
  const repository = await site.git.createRepository("victim", quickProject("victim"));
  const { deployment, revision } = await deploy(victims, {
    ...(await bodyFor(site, victims, "victim", repository.url)),
    secrets: [{ name: "OWN", value: "the-victims-own-secret" }],
  });
  expect(revision.status, revision.status_message ?? "").toBe("DEPLOYED");
  const { rows } = await raw<{
    artifact: string;
    port: number;
    pid: number | null;
    database: string;
  }>`select a.path as artifact, i.port, (i.handle->>'pid')::int as pid, d.database_name as database
    from deployment_instances i join deployments d on d.id = i.deployment_id, build_artifacts a
    where i.state = 'ready'`.execute(site.database.database.sql);
  const [found] = rows;
  const dataFolder = site.folder.path;
  for (const file of ["secret.key", "credentials.json"]) {
    await writeFile(join(dataFolder, file), platformSecret, { mode: 0o600 });
  }
  const below = [
    "secret.key",
    "credentials.json",
    "artifacts",
    "deployments",
    "caches",
    "logs",
    "known-hosts",
  ];
  const targets: HostileTargets = {
    dataFolder,
    platformFiles: below.map((file) => join(dataFolder, file)),
    platformPid: process.pid,
    platformUrl: site.plane.url,
    platformDatabaseUrl: site.database.url,
    bystanderPid,
    victim: {
      slug: deployment.slug,
      artifact: found!.artifact,
      port: found!.port,
      pid: found!.pid,
      databaseName: found!.database,
    },
  };
  return { targets, victimHeaders: { "x-api-key": plane.apiKey, ...headers } };
}
