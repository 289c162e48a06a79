import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DockerRuntime } from "../../src/control-plane/runtimes/docker/docker-runtime.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let docker: Docker;
let plane: ControlPlaneServer;
let git: GitServer;
let folder: TempFolder;
let database: TestDatabase;

/** An image that is no Treadle: a few lines of Node that answer `/ok` on the port they are given. */
function buildServer(tag: string, answer: string): Promise<string> {
  const code = `require("node:http").createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(request.url === "/ok" ? { ok: true } : { answer: ${JSON.stringify(answer)}, secret: process.env.TOLD }));
}).listen(Number(process.env.PORT), "0.0.0.0", () => console.log("image ${answer} listens"));`;
  return buildImage(tag, code);
}

async function buildImage(tag: string, code: string): Promise<string> {
  const context = join(folder.path, tag.replace(/\W/g, "-"));
  await mkdir(context);
  await writeFile(join(context, "server.cjs"), code);
  await writeFile(
    join(context, "Dockerfile"),
    'FROM treadle-test-node:latest\nCOPY server.cjs /server.cjs\nCMD ["node", "/server.cjs"]\n',
  );
  await docker.run(["build", "--tag", tag, context], { timeoutMs: 120_000 });
  return tag;
}

beforeAll(async () => {
  docker = await startDocker();
  const baseImage = await docker.buildNodeImage();
  database = await createTestDatabase();
  folder = await createTempFolder("deployment-docker");
  git = await startGitServer();
  const logger = createLogger({ level: "silent" });
  const command = ["node", join(root, "bin/treadle.js")];
  plane = await startControlPlane({
    ...{ databaseUrl: database.url, folder: folder.path },
    settings: { bakeMs: 300 },
    runtime: new DockerRuntime({
      socketPath: docker.socketPath,
      baseImage,
      command,
      binds: [`${root}:${root}:ro`],
      ...{ subnets: docker.subnets, allowRoot: false, logger },
      reach: { databaseUrl: database.url, platformUrl: () => plane.url },
    }),
  });
}, 240_000);

afterAll(async () => {
  await plane?.stop();
  await git?.stop();
  await docker?.stop();
  await database?.drop();
  await folder?.remove();
});

describe("deployments as containers", () => {
  it("runs an image, replaces it by another, and leaves no container behind", {
    timeout: 180_000,
  }, async () => {
    const image = {
      name: "image",
      source: "external_docker",
      source_config: {},
      secrets: [{ name: "TOLD", value: "a-secret-value" }],
    };
    const first = await buildServer("agent:one", "one");
    const { deployment, revision } = await deploy(plane, {
      ...image,
      source_revision_config: { image_uri: first },
    });
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const answer = async () => (await fetch(`${deployment.url}/x`)).json();
    expect(await answer()).toEqual({ answer: "one", secret: "a-secret-value" });
    const second = await buildServer("agent:two", "two");
    const path = `/v2/deployments/${deployment.id}`;
    const patched = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { image_uri: second },
    });
    expect((await revisionDone(plane, deployment.id, patched.body.latest_revision_id!)).status).toBe(
      "DEPLOYED",
    );
    expect(await answer()).toMatchObject({ answer: "two" });
    const logs = await plane.call<{ logs: { message: string }[] }>("GET", `${path}/logs?limit=100`);
    expect(logs.body.logs.map(({ message }) => message)).toContain("image one listens");
    const missing = await plane.call<DeploymentBody>("PATCH", path, {
      source_revision_config: { image_uri: "127.0.0.1:9/none:1" },
    });
    const failed = await revisionDone(plane, deployment.id, missing.body.latest_revision_id!);
    expect(failed.status).toBe("DEPLOY_FAILED");
    expect(failed.status_message).toContain("127.0.0.1:9/none:1");
    expect(await answer()).toMatchObject({ answer: "two" });
    expect((await plane.call("DELETE", path)).status).toBe(204);
    await expect.poll(() => docker.run(["ps", "--all", "--quiet"]), { timeout: 30_000 }).toBe("");
  });

  it("keeps a revision on the image it was first started with, though its tag moves", {
    timeout: 180_000,
  }, async () => {
    const reference = await buildServer("moving:tag", "before");
    const { deployment, revision } = await deploy(plane, {
      ...{ name: "moving", source: "external_docker", source_config: {}, secrets: [] },
      source_revision_config: { image_uri: reference },
    });
    const digest = (await docker.run(["image", "inspect", "--format", "{{.Id}}", reference])).trim();
    expect(revision.image).toEqual({ reference, digest });
    await buildServer("moving:other", "after");
    await docker.run(["tag", "moving:other", reference]);
    const answer = async () =>
      (await fetch(`${deployment.url}/x`)).json().catch(() => null) as Promise<{ answer: string } | null>;
    const container = await docker.run(["ps", "--quiet"]);
    await docker.run(["kill", container]);
    const isAnother = async () => ![container, ""].includes(await docker.run(["ps", "--quiet"]));
    await expect.poll(isAnother, { timeout: 60_000 }).toBe(true);
    await expect.poll(answer, { timeout: 60_000 }).toMatchObject({ answer: "before" });
    const path = `/v2/deployments/${deployment.id}`;
    const source_revision_config = { image_uri: reference };
    const patched = await plane.call<DeploymentBody>("PATCH", path, { source_revision_config });
    const next = await revisionDone(plane, deployment.id, patched.body.latest_revision_id!);
    expect(next.image).toMatchObject({ reference, digest: expect.not.stringContaining(digest) });
    expect(await answer()).toMatchObject({ answer: "after" });
    const back = await plane.call<DeploymentBody>("POST", `${path}/revisions/${revision.id}/redeploy`);
    const again = await revisionDone(plane, deployment.id, back.body.latest_revision_id!);
    expect(again).toMatchObject({ status: "DEPLOYED", image: { reference, digest } });
    expect(await answer()).toMatchObject({ answer: "before" });
    expect((await plane.call("DELETE", path)).status).toBe(204);
    await expect.poll(() => docker.run(["ps", "--all", "--quiet"]), { timeout: 30_000 }).toBe("");
  });

  it("lets deployed code reach the platform's API, nothing that is open on loopback, and nobody else's doors", {
    timeout: 180_000,
  }, async () => {
    const asking = `const { createServer } = require("node:http");
createServer(async (request, response) => {
  const { target, key, host } = Object.fromEntries(new URL(request.url, "http://x").searchParams);
  if (!target) return response.end('{"ok":true}');
  const headers = { ...(key && { "x-api-key": key }), ...(host && { host }) };
  const said = await new Promise((resolve) => require("node:http").request(target.replace("PLATFORM", process.env.PLATFORM), { method: "POST", headers, agent: false, timeout: 3000 },
    (answer) => { answer.resume(); resolve(answer.statusCode); }).on("timeout", function () { this.destroy(new Error("nothing")); }).on("error", (error) => resolve(error.code ?? error.message)).end());
  response.end(JSON.stringify({ said, platform: process.env.PLATFORM }));
}).listen(Number(process.env.PORT), "0.0.0.0");`;
    const image = await buildImage("asking:one", asking);
    const start = async (name: string) =>
      (
        await deploy(plane, {
          ...{
            name,
            source: "external_docker",
            source_config: {},
            source_revision_config: { image_uri: image },
          },
          secrets: [{ name: "PLATFORM", value: plane.url }],
        })
      ).deployment;
    const [one, two] = [await start("asking-one"), await start("asking-two")];
    const ask = async ({ url }: { url: string | null }, target: string, more: Record<string, string> = {}) =>
      (await (await fetch(`${url}/?${new URLSearchParams({ target, ...more })}`)).json()) as {
        said: unknown;
        platform: string;
      };
    const keyed = { key: plane.apiKey };
    const { said, platform } = await ask(one, "PLATFORM/v2/auth/sessions", keyed);
    expect([said, platform]).toEqual([
      expect.any(Number),
      expect.stringMatching(/^http:\/\/10\.[\d.]+:18124$/),
    ]);
    expect(said).toBeLessThan(300);
    expect((await ask(one, "PLATFORM/v2/deployments")).said).toBe(401);
    // Open to everybody on this machine's loopback, and so to every caller that claims to call from there.
    const there = { host: new URL(plane.url).host };
    expect((await ask(one, `PLATFORM/d/${new URL(two.url!).pathname.split("/")[2]}/x`, there)).said).toBe(
      404,
    );
    expect((await ask(one, `http://127.0.0.1:${new URL(plane.url).port}/ok`)).said).toBe("ECONNREFUSED");
    const neighbour = (await ask(two, "PLATFORM/v2/auth/sessions", keyed)).platform;
    expect(neighbour).not.toBe(platform);
    expect((await ask(one, `${neighbour}/v2/auth/sessions`, keyed)).said).toBe("ECONNRESET");
    for (const { id } of [one, two]) await plane.call("DELETE", `/v2/deployments/${id}`);
    await expect
      .poll(() => docker.run(["network", "ls", "--quiet", "--filter", "name=treadle-"]), { timeout: 30_000 })
      .toBe("");
  });

  it("runs what was built from a repository", { timeout: 180_000 }, async () => {
    const repository = await git.createRepository("contained", quickProject("contained"));
    const source_config = { repo_url: repository.url, install_command: quickInstall };
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment("contained", repository.url, { source_config }),
    );
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    expect(await (await fetch(`${deployment.url}/version`)).json()).toMatchObject({ answer: "contained" });
    expect(await docker.run(["ps", "--format", "{{.Names}}"])).toMatch(/^treadle-/);
  });

  it("a container that nobody uses is put to sleep, and the next request starts another", {
    timeout: 240_000,
  }, async () => {
    const repository = await git.createRepository("sleeper", quickProject("awake"));
    const source_config = {
      ...{ repo_url: repository.url, install_command: quickInstall, resource_spec: { min_scale: 0 } },
    };
    const { deployment, revision } = await deploy(
      plane,
      gitDeployment("sleeper", repository.url, { source_config }),
    );
    expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    const path = `/v2/deployments/${deployment.id}`;
    type Sleeper = { sleep: { state: string }; health: { state: string } };
    const answered = await plane.call<Sleeper>("POST", `${path}/sleep`);
    expect([answered.status, answered.body.sleep.state]).toEqual([200, "falling_asleep"]);
    await waitUntil(
      async () => {
        const { rows } = await raw`select 1 from deployments
          where id = ${deployment.id} and sleep_settled`.execute(plane.database.sql);
        return rows.length > 0;
      },
      { what: "the container to sleep", timeoutMs: 90_000 },
    );
    expect((await plane.call<Sleeper>("GET", path)).body.health.state).toBe("asleep");
    const sent = await fetch(`${deployment.url}/echo`, { method: "POST", body: "are you there?" });
    expect([sent.status, await sent.text()]).toEqual([200, "are you there?"]);
    expect((await plane.call<Sleeper>("GET", path)).body.health.state).toBe("serving");
    expect((await plane.call("DELETE", path)).status).toBe(204);
  });
});
