import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GitFiles } from "../support/components/git-repository.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import {
  type DeploymentBody,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import {
  imageProject,
  type KubernetesSite,
  openKubernetesSite,
} from "../support/kubernetes/kubernetes-site.ts";
import { quickInstall } from "../support/quick-project.ts";

/** Builds as Jobs of a real cluster. */
let site: KubernetesSite;
let gate: Server;
let gateUrl: string;
const held: (() => void)[] = [];
const host = process.env.TREADLE_TEST_CLUSTER_HOST!;
const memoryMb = 320;

const link = 'import { symlinkSync } from "node:fs";\nsymlinkSync("/app/node_modules", "node_modules");\n';
const project = (script: string, more: GitFiles = {}) =>
  imageProject("built in a pod", { "install.js": `${link}${script}`, ...more });

beforeAll(async () => {
  gate = createServer((_request, response) => held.push(() => response.end("go on")));
  await new Promise<void>((resolve) => gate.listen(0, host, resolve));
  gateUrl = `http://${host}:${(gate.address() as AddressInfo).port}/`;
  const environment = { TREADLE_BUILDS: "jobs", TREADLE_BUILD_MEMORY_MB: String(memoryMb) };
  site = await openKubernetesSite({ environment });
}, 900_000);

afterAll(async () => {
  await site?.stop();
  gate?.closeAllConnections();
  gate?.close();
});

async function begin(name: string, files: GitFiles) {
  const { git, plane } = site;
  const repository = await git.createRepository(name, files);
  const { body } = await plane().call<DeploymentBody>(
    "POST",
    "/v2/deployments",
    gitDeployment(name, repository.url, {
      source_config: {
        ...{ repo_url: repository.url, deployment_type: "dev", build_on_push: false },
        install_command: quickInstall,
      },
    }),
  );
  const revisionId = body.latest_revision_id!;
  const path = `/v2/deployments/${body.id}/revisions/${revisionId}`;
  return {
    ...{ id: body.id, slug: body.slug, path, revisionId },
    done: () => revisionDone(plane(), body.id, revisionId, 300_000),
    revision: async () => (await plane().call<RevisionBody>("GET", path)).body,
    log: async () => {
      const { body: page } = await plane().call<{ logs: { message: string; origin: string }[] }>(
        ...(["POST", `/v1/projects/${body.id}/revisions/${revisionId}/build_logs`, { limit: 500 }] as const),
      );
      return page.logs;
    },
  };
}

/** What the cluster has of a deployment's builds. */
async function objectsOf(deploymentId: string): Promise<string[]> {
  const paths = [
    `/apis/batch/v1/namespaces/${site.space.name}/jobs`,
    ...["pods", "secrets"].map((kind) => `${site.space.path}/${kind}`),
  ];
  const selector = `treadle.dev/deployment=${deploymentId},treadle.dev/build`;
  const lists = await Promise.all(paths.map((path) => site.space.api.list(path, selector)));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.uid));
}

const gone = (deploymentId: string) =>
  waitUntil(async () => (await objectsOf(deploymentId)).length === 0, {
    ...{ what: "the Job, its pod and its Secret to be gone", timeoutMs: 300_000 },
  });

const reached = () => waitUntil(() => held.length > 0, { what: "the build to begin", timeoutMs: 300_000 });
const letGo = () => {
  for (const go of held.splice(0)) go();
};

/** Looks for everything that a build must not find. */
const spy = (secrets: string) => `
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:https";
const read = (path) => { try { return readFileSync(path, "utf8"); } catch (error) { return error.code; } };
const list = (path) => { try { return readdirSync(path, { recursive: true }); } catch (error) { return [error.code]; } };
const status = await new Promise((resolve) => {
  const asked = request("${secrets}", { rejectUnauthorized: false }, (answer) => { resolve(answer.statusCode); answer.destroy(); });
  asked.on("error", (error) => resolve(error.code));
  asked.end();
});
console.log("SPY " + JSON.stringify({
  environment: process.env, parent: read("/proc/" + process.ppid + "/environ"), first: read("/proc/1/environ"),
  mounts: read("/proc/self/mountinfo").split("\\n").map((line) => line.split(" ")[4]),
  secrets: [...list("/var/run/secrets"), ...list("/run/secrets")], etc: list("/run/build"), uid: process.getuid(), apiServer: status,
}));
`;

describe("a build in a pod", { timeout: 900_000 }, () => {
  it("is deployed, sees no secret of the platform, and leaves no Job and no Secret", async () => {
    const spied = await begin("spy", project(spy(`${site.space.access.server}${site.space.path}/secrets`)));
    expect(await spied.done()).toMatchObject({ status: "DEPLOYED" });
    expect(await site.plane().call("GET", `/d/${spied.slug}/version`)).toMatchObject({
      ...{ status: 200, body: { answer: "built in a pod" } },
    });
    const lines = await spied.log();
    const found = lines.find(({ message }) => message.startsWith("SPY "))!;
    expect(found.origin).toBe("project");
    const seen = JSON.parse(found.message.slice(4)) as Record<string, unknown>;
    expect(seen).toMatchObject({ uid: 1000, secrets: ["ENOENT", "ENOENT"] });
    expect([401, 403]).toContain(seen.apiServer);
    const password = new URL(site.database.url).password;
    for (const secret of [site.plane().apiKey, "a secret key for tests only", "postgres:", password])
      if (secret !== "") expect(found.message).not.toContain(secret);
    expect(found.message).not.toMatch(/DATABASE_URL|TREADLE_SECRET|TREADLE_API_KEY|KUBECONFIG/);
    await gone(spied.id);
  });

  it("that fails names the file and the line, as everywhere", async () => {
    const failing = await begin(
      "failing",
      project('import "./broken.js";\n', { "broken.js": "\n\nnope();\n" }),
    );
    expect(await failing.done()).toMatchObject({
      status: "BUILD_FAILED",
      failure: { file: "broken.js", line: 3, reason: "ReferenceError: nope is not defined" },
    });
    await gone(failing.id);
  });

  it("that needs more memory than it has names its limit", async () => {
    const grow = "const all = []; for (;;) all.push(Buffer.alloc(20_000_000, all.length));\n";
    const large = await begin("large", project(grow));
    const { status, status_message: message } = await large.done();
    expect({ status, message }).toEqual({
      status: "BUILD_FAILED",
      message: expect.stringContaining(
        `out of memory: its limit is ${memoryMb} MB. Raise TREADLE_BUILD_MEMORY_MB`,
      ),
    });
  });

  it("goes on in the same pod when the platform is restarted, and is removed when it is interrupted", async () => {
    const waiting = project(`console.log("asked"); await fetch("${gateUrl}"); console.log("went on");\n`);
    const long = await begin("long", waiting);
    await reached();
    const before = await objectsOf(long.id);
    expect(before).toHaveLength(3);
    await site.restart();
    await waitUntil(async () => (await long.revision()).events.some(({ kind }) => kind === "resumed"), {
      ...{ what: "the build to be followed again", timeoutMs: 300_000 },
    });
    expect(await objectsOf(long.id)).toEqual(before);
    letGo();
    expect(await long.done()).toMatchObject({ status: "DEPLOYED" });
    const messages = (await long.log()).map(({ message }) => message);
    expect(messages.filter((message) => message === "asked")).toHaveLength(1);
    expect(messages.filter((message) => message === "went on")).toHaveLength(1);

    const unwanted = await begin("unwanted", waiting);
    await reached();
    expect((await site.plane().call("POST", `${unwanted.path}/interruption`)).status).toBe(200);
    await gone(unwanted.id);
    letGo();
  });
});
