import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../../tests/support/components/wait-until.ts";
import { AppError } from "../../../platform/errors.ts";
import { createLogger } from "../../../platform/logger.ts";
import { leaseOver } from "../../desired-state/reconcile-fence.ts";
import { Walls } from "../../sandbox/walls.ts";
import { exitText } from "../exit.ts";
import { oneReplica, type StartSpec } from "../runtime.ts";
import type { KubernetesApi, KubernetesCall } from "./api.ts";
import { KubernetesRuntime, type KubernetesRuntimeOptions } from "./kubernetes-runtime.ts";
import { instanceLabel, objectName } from "./objects.ts";
import { KubernetesRefusal } from "./refusal.ts";

let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("kubernetes-runtime");
});
afterAll(() => folder.remove());

const instance = randomUUID();
const deploymentId = randomUUID();
const labels = { [instanceLabel]: instance, "treadle.dev/deployment": deploymentId };
const deployment = {
  metadata: {
    ...{ name: objectName(instance), namespace: "n", uid: "d", resourceVersion: "1", generation: 1, labels },
  },
  spec: { replicas: 1 },
};
const crashed = {
  metadata: { name: "p", namespace: "n", uid: "p", resourceVersion: "1", labels },
  status: { containerStatuses: [{ name: "server", state: { terminated: { exitCode: 3 } } }] },
};
const forbidden = () =>
  new KubernetesRefusal(
    { method: "GET", path: "/" },
    { status: 403, reason: "Forbidden", message: "not now" },
  );
const refuse = async (): Promise<never> => {
  throw forbidden();
};

/** An API server that refuses what the test says: a real one refuses nothing at the right moment. */
function runtimeOn(api: object, more: Partial<KubernetesRuntimeOptions> = {}): KubernetesRuntime {
  const open = async ({ signal }: KubernetesCall) =>
    new PassThrough({ ...(signal ? { signal } : {}) }).on("error", () => {});
  return new KubernetesRuntime({
    ...{ api: { open, ...api } as unknown as KubernetesApi, namespace: "n", installation: "i" },
    ...{ baseImage: "image", folder: folder.path, graceSeconds: 1, startSeconds: 1 },
    ...{ platformUrl: () => "http://10.0.0.1", platformRanges: [], databaseUrl: "postgres://10.0.0.1/x" },
    ...{ walls: new Walls({ setting: "off", mustPass: [] }), logger: createLogger({ level: "silent" }) },
    ...more,
  });
}

const handle = {
  ...{ name: objectName(instance), uid: "d", generation: 1, instance, port: 8000, memory_bytes: null },
  log_path: "",
};
const handleHere = () => ({ ...handle, log_path: join(folder.path, `${instance}.log`) });
const listOf = (items: { deployments: object[]; pods: object[] }) => async (path: string) => ({
  ...{ items: path.endsWith("/pods") ? items.pods : items.deployments, resourceVersion: "1" },
});

const startSpec: StartSpec = {
  ...{ instanceId: instance, deploymentId, revisionId: randomUUID(), workspaceId: randomUUID(), port: 8000 },
  ...{ folder: null, configPath: "langgraph.json", image: "image", pinned: null, environment: {} },
  ...{ instanceFolder: "", home: "", logPath: "", resources: { memoryBytes: null, cpus: null } },
  scale: oneReplica,
};

describe("a start in a cluster", () => {
  const away = () =>
    new AppError({ code: "runtime.kubernetes_unreachable", kind: "unavailable", message: "away" });

  it("waits for an API server that is away, and ends with the lease", async () => {
    const lease = new AbortController();
    let asked = 0;
    const runtime = runtimeOn({
      async apply() {
        asked += 1;
        if (asked === 2) lease.abort(leaseOver());
        throw away();
      },
    });
    const start = runtime.start(startSpec, lease.signal);
    await expect(start).rejects.toMatchObject({ code: "deployment.lease_lost" });
    expect(asked).toBe(2);
  });

  it("makes nothing more once the lease is over", async () => {
    const lease = new AbortController();
    const made: string[] = [];
    const runtime = runtimeOn({
      async apply(path: string, _body: object, _manager: string, signal?: AbortSignal) {
        signal?.throwIfAborted();
        made.push(path.split("/").at(-2)!);
        if (path.includes("/deployments/")) lease.abort(leaseOver());
        return deployment;
      },
    });
    await expect(runtime.start(startSpec, lease.signal)).rejects.toMatchObject({
      code: "deployment.lease_lost",
    });
    expect(made).toEqual(["serviceaccounts", "networkpolicies", "deployments"]);
  });
});

describe("a server in a pod", { timeout: 20_000 }, () => {
  it("has ended though nothing can be removed afterwards", async () => {
    const list = listOf({ deployments: [deployment], pods: [crashed] });
    const runtime = runtimeOn({ list, get: refuse, patch: refuse, remove: refuse });
    const end = await runtime.ended(handleHere(), AbortSignal.timeout(10_000));
    expect(exitText(end)).toMatch(/^exit code 3/);
  });

  it("is gone only when the API server says so, however often that refuses", async () => {
    const answers = [refuse, refuse, async () => null];
    const list = listOf({ deployments: [], pods: [] });
    const runtime = runtimeOn({ list, get: () => answers.shift()!(), remove: async () => false });
    const end = await runtime.ended(handleHere(), AbortSignal.timeout(10_000));
    expect(exitText(end)).toMatch(/removed|gone/);
    expect(answers).toHaveLength(0);
  });

  it("is still looked after when an earlier watch of it ends", { timeout: 120_000 }, async () => {
    const asked: unknown[] = [];
    const isSilent = async (endpoint: object) => {
      asked.push(endpoint);
      return false;
    };
    const port = 8000;
    const serving = {
      metadata: crashed.metadata,
      spec: { nodeName: "node", containers: [{ name: "server", ports: [{ containerPort: port }] }] },
      status: { podIP: "127.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
    };
    const runtime = runtimeOn({ list: listOf({ deployments: [deployment], pods: [serving] }) }, { isSilent });
    const watch = () => {
      const stop = new AbortController();
      return { stop, seen: runtime.observe({ ...handleHere(), port }, stop.signal) };
    };
    const [earlier, later] = [watch(), watch()];
    for (const { seen } of [earlier, later]) expect((await seen.next()).value).toMatchObject({ ready: true });
    earlier.stop.abort();
    expect(await earlier.seen.next()).toMatchObject({ done: true });
    const before = asked.length;
    await waitUntil(() => asked.length > before, { what: "a look at its pod", timeoutMs: 60_000 });
    expect(asked.at(-1)).toEqual({ host: "127.0.0.1", port });
    later.stop.abort();
    expect(await later.seen.next()).toMatchObject({ done: true });
  });

  it("is found with a log in its own folder, whatever its labels and annotations say", async () => {
    const annotated = (labels: object) => ({
      ...deployment,
      metadata: { ...deployment.metadata, labels, annotations: { "treadle.dev/log-path": "/etc/passwd" } },
    });
    const found = await runtimeOn({ get: async () => annotated(labels) }).find(instance);
    expect(found?.log_path).toBe(join(folder.path, "logs", deploymentId, `${instance}.log`));
    const outside = annotated({ ...labels, "treadle.dev/deployment": "../../etc" });
    expect(await runtimeOn({ get: async () => outside }).find(instance)).toBeNull();
  });

  it("gets its replicas though a pod cannot be marked, and no mark is more than the cluster takes", async () => {
    const patches: Record<string, unknown> = {};
    const runtime = runtimeOn({
      get: async () => deployment,
      async patch(path: string, body: { metadata?: { annotations: object } }) {
        const what = path.slice(path.lastIndexOf("/") + 1);
        patches[what] = body.metadata ? Object.values(body.metadata.annotations)[0] : body;
        if (what === "gone") throw forbidden();
      },
    });
    const busy = new Map([
      ["gone", 1],
      ["lies", 1e15],
      ["odd", 2.4],
    ]);
    await runtime.scale(handleHere(), 1, busy);
    expect(patches).toEqual({ gone: "1", lies: "2147483647", odd: "2", scale: { spec: { replicas: 1 } } });
  });
});
