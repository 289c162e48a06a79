import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker/docker-runtime.ts";
import { Walls } from "../../src/control-plane/sandbox/walls.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { ensureBubblewrap } from "../support/components/bubblewrap.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { packageRoot, treadleCommand } from "../support/control-plane.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { type HostileReports, type HostileTargets, hostileProject } from "../support/hostile-project.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const gitToken = "ghp_the-token-of-the-victim-0123456789abcd";
const platformSecret = "only-the-platform-knows-this";
/** In every file, environment and row that is not the hostile project's. */
const neighboursSecret = "what-the-neighbour-said-0123";
const accountToken = "the-account-of-a-person-0123";
const secrets = [gitToken, platformSecret, "the-victims-own-secret", neighboursSecret, accountToken];

type Place = { site: DeploymentSite; stop(): Promise<void> };

const git = { credentials: [{ username: "x-access-token", password: gitToken }] };
const settings = { bakeMs: 0 };
const traced = true;

async function withUsers(): Promise<Place> {
  // No bubblewrap to be found: each deployment is a user of its own.
  const walls = new Walls({
    setting: "auto",
    mustPass: [process.execPath, packageRoot],
    path: "/nonexistent",
  });
  expect((await walls.isolation()).kind).toBe("users");
  const site = await startDeploymentSite("hostile-users", {
    git,
    settings,
    traced,
    walls,
    folderMode: 0o755,
  });
  return { site, stop: () => site.stop() };
}

async function sandboxed(): Promise<Place> {
  await ensureBubblewrap();
  const site = await startDeploymentSite("hostile-sandbox", {
    git,
    traced,
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
  const runtime = new DockerRuntime({
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
    site = await startDeploymentSite("hostile-docker", { git, settings, traced, runtime });
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

/** What a runtime does not promise, each with the sentence of docs/security.md that states it. */
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
    let prepared: Prepared;
    let hostile: DeploymentBody;
    beforeAll(async () => {
      process.env.PLATFORM_ONLY = platformSecret;
      bystander = spawn("sleep", ["600"], { stdio: "ignore" });
      place = await start();
      const { site } = place;
      prepared = await prepareTargets(site, bystander.pid!);
      const repository = await site.git.createRepository("hostile", hostileProject(prepared.targets));
      const body = await bodyFor(site, site.plane, "hostile", repository.url);
      const { deployment, revision } = await deploy(site.plane, body);
      expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.anything()]);
      hostile = deployment;
    }, 240_000);
    afterAll(async () => {
      delete process.env.PLATFORM_ONLY;
      bystander?.kill();
      await place?.stop();
    });

    const order = (path: string) =>
      fetch(`${place.site.plane.url}/d/${hostile.slug}${path}`, {
        method: "POST",
        headers: { "x-api-key": place.site.plane.apiKey, "x-tenant-id": place.site.plane.workspaceId },
        signal: AbortSignal.timeout(120_000),
      });

    /** The platform and the other deployment, each by an answer of its own. */
    async function expectOthersToGoOn(): Promise<void> {
      const { plane } = place.site;
      const signal = AbortSignal.timeout(60_000);
      const { targets, victimHeaders: headers } = prepared;
      const victim = await fetch(`${plane.url}/d/${targets.victim.slug}/version`, { headers, signal });
      expect(await victim.json()).toMatchObject({ answer: "victim" });
      expect((await fetch(`${plane.url}/v2/deployments`, { headers, signal })).status).toBe(200);
    }

    it("gets at nothing but its own: in its build, at its start and in its routes", {
      timeout: 240_000,
    }, async () => {
      const answer = await order("/attack");
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
      // The database and the tracing key are given to servers, not to builds.
      for (const moment of ["start", "route"] as const) {
        expect(reports[moment].controls).toHaveProperty(["its own database"]);
        expect(reports[moment].controls).toHaveProperty(["a trace of its own"]);
        // Refused for what the key is, and not because nobody answered.
        for (const [what, { refused }] of Object.entries(reports[moment].attempts)) {
          if (!what.startsWith("its tracing key: ")) continue;
          expect([what, refused]).toEqual([what, expect.stringMatching(/^status 40[134]$/)]);
        }
      }
      expect(Object.keys(reports.route.attempts).length).toBeGreaterThan(80);
      await expectOthersToGoOn();
      await expectNeighbourUntouched(place.site.plane, prepared.targets);
    });

    it("takes all the processes it can, and the others go on", { timeout: 240_000 }, async () => {
      const taken = (await (await order("/processes/take")).json()) as { taken: number; refused?: string };
      // The limit is 512 with the server's own threads.
      expect(taken).toEqual({ taken: expect.any(Number), refused: "EAGAIN" });
      expect(taken.taken).toBeLessThan(512);
      expect(taken.taken).toBeGreaterThan(256);
      await expectOthersToGoOn();
      expect(await (await order("/processes/let-go")).json()).toEqual({ let: taken.taken });
    });

    it("takes all the memory it can, is ended, and the others go on", { timeout: 240_000 }, async () => {
      const done = order("/memory/take").then(
        (answer) => answer.status,
        () => 0,
      );
      await expectOthersToGoOn();
      expect(await done).not.toBe(200);
      await expectOthersToGoOn();
      const { sql } = place.site.database.database;
      const ended = async () => {
        const { rows } = await raw<{ limit: string }>`select exit_detail as limit from deployment_instances
          where deployment_id = ${hostile.id} and exit_kind = 'out_of_memory'`.execute(sql);
        return rows[0]?.limit;
      };
      const limit = await waitUntil(ended, { what: "the end of the server", timeoutMs: 60_000 });
      expect(limit).toBe("1024");
    });
  });
}

/** The project still holds one run, as it was written, and nobody has a key or a link that was not there. */
async function expectNeighbourUntouched(plane: DeploymentSite["plane"], { neighbour }: HostileTargets) {
  type Stored = { runs: { id: string; outputs: unknown; feedback_stats: unknown; inputs: unknown }[] };
  const found = await plane.call<Stored>("POST", "/api/v1/runs/query", { session: [neighbour.projectId] });
  expect(found.body.runs).toMatchObject([
    { id: neighbour.runId, outputs: null, feedback_stats: null, inputs: { said: neighboursSecret } },
  ]);
  expect((await plane.call("GET", `/api/v1/runs/${neighbour.runId}/share`)).body).toBeNull();
  const keys = await plane.call<{ resources: { name: string }[] }>("GET", "/v2/api-keys?limit=100");
  expect(keys.body.resources.map(({ name }) => name)).not.toContain("mine");
}

async function bodyFor(site: DeploymentSite, caller: PlaneCalls, name: string, url: string) {
  const integration = await caller.call<{ id: string }>("POST", "/v1/integrations/github", {
    name,
    host: new URL(site.git.url).host,
    token: gitToken,
  });
  const source_config = {
    repo_url: url,
    install_command: quickInstall,
    integration_id: integration.body.id,
    resource_spec: { memory_limit_mb: 1_024 },
  };
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
  const neighbour = await prepareNeighbour(plane);
  const targets: HostileTargets = {
    ...neighbour,
    dataFolder,
    platformFiles: below.map((file) => join(dataFolder, file)),
    platformPid: process.pid,
    platformUrl: site.plane.url,
    platformDatabaseUrl: site.database.url,
    bystanderPid,
    victim: {
      slug: deployment.slug,
      deploymentId: deployment.id,
      workspaceId: workspace.id,
      artifact: found!.artifact,
      port: found!.port,
      pid: found!.pid,
      databaseName: found!.database,
    },
  };
  return { targets, victimHeaders: { "x-api-key": plane.apiKey, ...headers } };
}

/** What the hostile project's own workspace has beside it: another project's run, and an account of a person. */
async function prepareNeighbour(plane: PlaneCalls): Promise<Pick<HostileTargets, "neighbour" | "provider">> {
  const project = "neighbour";
  const made = await plane.call<{ id: string }>("POST", "/api/v1/sessions", { name: project });
  const runId = randomUUID();
  const kept = await plane.call("POST", "/api/v1/runs", {
    ...{ id: runId, name: "step", run_type: "chain", session_name: project },
    start_time: new Date().toISOString(),
    inputs: { said: neighboursSecret },
  });
  expect([made.status, kept.status]).toEqual([200, 202]);
  const provider = "accounts";
  const nowhere = "http://127.0.0.1:9";
  const known = await plane.call("POST", "/v2/auth/providers", {
    ...{ provider_id: provider, name: provider, client_id: "x", client_secret: accountToken },
    ...{ auth_url: `${nowhere}/authorize`, token_url: `${nowhere}/token` },
  });
  const imported = await plane.call("POST", "/v2/auth/tokens/import", {
    provider_id: provider,
    access_token: accountToken,
  });
  expect([known.status, imported.status]).toEqual([200, 200]);
  return { neighbour: { project, projectId: made.body.id, runId }, provider };
}
