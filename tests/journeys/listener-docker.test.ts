import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { type Docker, startDocker } from "../support/components/docker.ts";
import { freePort } from "../support/components/free-port.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, deploy } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/**
 * A listener whose servers are containers of a Docker that its platform knows nothing of. They are of an image: one that
 * contains Treadle, for what is built, takes minutes to make.
 */
let docker: Docker;
let site: ListenerSite;
let folder: TempFolder;
let listenerId: string;
let authority: string;
const image = "at-the-listener:one";
const code = `require("node:http").createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  const trusted = require("node:tls").getCACertificates("extra");
  response.end(JSON.stringify({ ok: true, secret: process.env.TOLD, trusted }));
}).listen(Number(process.env.PORT), "0.0.0.0", () => console.log("the container listens"));`;

beforeAll(async () => {
  folder = await createTempFolder("listener-docker");
  [docker, site] = await Promise.all([startDocker(), ListenerSite.prepare()]);
  const base = await docker.buildNodeImage();
  const context = join(folder.path, "image");
  await mkdir(context);
  await writeFile(join(context, "server.cjs"), code);
  const steps = [`FROM ${base}`, "COPY server.cjs /server.cjs", 'CMD ["node", "/server.cjs"]', ""];
  await writeFile(join(context, "Dockerfile"), steps.join("\n"));
  await docker.run(["build", "--tag", image, context], { timeoutMs: 180_000 });
  const made = await site.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "docker", compute_id: "containers", compute_config: {} },
  });
  listenerId = made.body.id;
  const { body } = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name: "containers", service: true, scopes: ["listener"] },
  });
  authority = join(folder.path, "authority.pem");
  const how = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a private authority"];
  await runCommand("openssl", ["req", ...how, "-keyout", join(folder.path, "key.pem"), "-out", authority]);
  await site.startListener({
    ...{ id: listenerId, key: body.key, port: await freePort(), args: ["--runtime", "docker"] },
    env: {
      ...{ TREADLE_DOCKER_SOCKET: docker.socketPath, TREADLE_DOCKER_IMAGE: base },
      ...{ TREADLE_DOCKER_SUBNETS: docker.subnets, NODE_EXTRA_CA_CERTS: authority },
    },
  });
});
afterAll(async () => {
  await site?.stop();
  await docker?.stop();
  await folder?.remove();
});

const containers = async () =>
  (await docker.run(["ps", "--all", "--format", "{{.Names}}"])).split("\n").filter((name) => name !== "");

test("a deployment is served from a container of its listener and deleted, and no container is left", async () => {
  const { deployment, revision } = await deploy(site.calls, {
    ...{ name: "contained", source: "external_docker", source_config: { listener_id: listenerId } },
    ...{ source_revision_config: { image_uri: image }, secrets: [{ name: "TOLD", value: "a-secret-value" }] },
  });
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  const path = `/v2/deployments/${deployment.id}`;
  const { body } = await site.call<DeploymentBody>("GET", path);
  const ask = () => fetch(`${body.url}/x`, { headers: site.headers });
  // It trusts the authority that its listener was given.
  const trusted = [(await readFile(authority, "utf8")).trim()];
  const seen = (await (await ask()).json()) as { trusted: string[] };
  expect({ ...seen, trusted: seen.trusted.map((each) => each.trim()) }).toEqual({
    ...{ ok: true, secret: "a-secret-value", trusted },
  });
  expect(await containers()).not.toEqual([]);
  await waitUntil(
    async () => {
      const logs = await site.call<{ logs: { message: string }[] }>("GET", `${path}/logs?limit=100`);
      return logs.body.logs.some(({ message }) => message === "the container listens");
    },
    { what: "its line at the platform", timeoutMs: 120_000 },
  );
  expect((await site.call("DELETE", path)).status).toBe(204);
  await waitUntil(async () => (await ask()).status === 404, { what: "the gateway", timeoutMs: 120_000 });
  expect((await site.call("DELETE", `${path}?force=true`)).status).toBe(204);
  await waitUntil(async () => (await containers()).length === 0, {
    ...{ what: "its container to be gone", timeoutMs: 120_000 },
  });
  const rows = async (of: "platform" | "place") =>
    (
      await raw`select 1 from deployments where id = ${deployment.id}`.execute(
        site.databases[of].database.sql,
      )
    ).rows.length;
  await waitUntil(async () => (await rows("place")) + (await rows("platform")) === 0, {
    ...{ what: "both databases to forget it", timeoutMs: 120_000 },
  });
});
