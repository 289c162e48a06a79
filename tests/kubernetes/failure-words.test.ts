import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exitText } from "../../src/control-plane/runtimes/exit.ts";
import type { KubernetesApi } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { KubernetesRuntime } from "../../src/control-plane/runtimes/kubernetes/kubernetes-runtime.ts";
import { oneReplica, type Resources, type StartSpec } from "../../src/control-plane/runtimes/runtime.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { machineWalls } from "../support/control-plane.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { agentImage } from "../support/kubernetes/images.ts";
import { openAsPlatform } from "../support/kubernetes/platform-account.ts";

/** How a person hears what is wrong with a server, in the words of a real cluster. */
let space: TestNamespace;
let api: KubernetesApi;
let runtime: KubernetesRuntime;
let folder: TempFolder;
let platform: Server;
const host = process.env.TREADLE_TEST_CLUSTER_HOST!;

beforeAll(async () => {
  space = await openNamespace();
  api = await openAsPlatform(space);
  folder = await createTempFolder("failure-words");
  platform = createServer((_request, response) => response.writeHead(404).end("There is no such artifact."));
  await new Promise<void>((resolve) => platform.listen(0, host, resolve));
  const platformUrl = `http://${host}:${(platform.address() as AddressInfo).port}`;
  runtime = new KubernetesRuntime({
    ...{ api, namespace: space.name, installation: "test", baseImage: agentImage },
    ...{
      platformUrl: () => platformUrl,
      platformRanges: [`${host}/32`],
      databaseUrl: `postgres://${host}/x`,
    },
    ...{ walls: machineWalls(), folder: folder.path },
    ...{ graceSeconds: 1, startSeconds: 60, logger: createLogger({ level: "silent" }) },
  });
}, 900_000);

afterAll(async () => {
  await new Promise((resolve) => platform?.close(resolve));
  await space?.remove();
  api?.close();
  await folder?.remove();
});

function specOf(given: { image?: string; resources?: Partial<Resources> }): StartSpec {
  const instanceId = randomUUID();
  return {
    ...{ instanceId, deploymentId: randomUUID(), revisionId: randomUUID() },
    ...{ workspaceId: randomUUID(), port: 8000, pinned: null, scale: oneReplica },
    ...{ folder: given.image ? null : "/built", configPath: "langgraph.json", image: given.image ?? null },
    environment: { TREADLE_INSTANCE_SECRET: "a secret of this test" },
    ...{ instanceFolder: folder.path, home: folder.path, logPath: `${folder.path}/${instanceId}.log` },
    resources: { memoryBytes: null, cpus: null, ...given.resources },
  };
}

async function endOf(spec: StartSpec): Promise<string> {
  const handle = await runtime.start(spec, new AbortController().signal);
  return exitText(await runtime.ended(handle, AbortSignal.timeout(100_000)));
}

describe("on a real cluster", { timeout: 900_000 }, () => {
  it("an image that nobody has fails after a minute, with its name", async () => {
    const image = "127.0.0.1:9/nobody/has-this:1";
    expect(await endOf(specOf({ image }))).toMatch(
      /^it could not be started: the image 127\.0\.0\.1:9\/nobody\/has-this:1 cannot be pulled: .{10,}/,
    );
  });

  it("an image whose name is none fails at once", async () => {
    expect(await endOf(specOf({ image: "Not/An:Image:Name" }))).toMatch(
      /^it could not be started: the image Not\/An:Image:Name cannot be pulled: .{10,}/,
    );
  });

  it("a server that needs more memory than it has names its limit", async () => {
    const resources = { memoryBytes: 24 * 1024 * 1024 };
    expect(await endOf(specOf({ image: agentImage, resources }))).toMatch(
      /^out of memory: its limit is 24 MB\./,
    );
  });

  it("a server that ends names its exit code", async () => {
    // Without a PostgreSQL, and without a place for its data folder.
    expect(await endOf(specOf({ image: agentImage }))).toMatch(/^exit code [1-9]/);
  });

  it("an artifact that is refused names the platform's answer", async () => {
    expect(await endOf(specOf({}))).toMatch(
      /^it could not be started: its artifact could not be fetched: .*answers 404: There is no such artifact\./s,
    );
  });

  it("a pod that no node has room for waits with the scheduler's words", async () => {
    const handle = await runtime.start(
      specOf({ image: agentImage, resources: { cpus: 1_000 } }),
      new AbortController().signal,
    );
    const problems: string[] = [];
    for await (const { problem } of runtime.observe(handle, AbortSignal.timeout(60_000))) {
      problems.push(problem);
      if (problem.startsWith("no node takes its pod")) break;
    }
    expect(problems.at(-1)).toMatch(/^no node takes its pod: 0\/\d+ nodes are available: .*Insufficient cpu/);
    await runtime.kill(handle);
  });

  it("a pod that a quota forbids fails with the quota's words", async () => {
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" } };
    const path = `${space.path}/resourcequotas/none`;
    await space.api.apply(path, { ...quota, spec: { hard: { pods: "0" } } }, "treadle-test");
    expect(await endOf(specOf({ image: agentImage }))).toMatch(
      /^it could not be started: Kubernetes refused its pod: .*exceeded quota: none/,
    );
  });

  it("the account of the manifest may not read secrets", async () => {
    await expect(api.list(`${space.path}/secrets`, "")).rejects.toThrow(/forbidden/);
    await expect(api.get(`${space.path}/secrets/treadle-token`)).rejects.toThrow(/forbidden/);
  });
});
