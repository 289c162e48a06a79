import { randomUUID } from "node:crypto";
import { chmod, chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { KubernetesObject } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { type DebianPostgres, startDebianPostgres } from "../support/components/debian-postgres.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { deploy, gitDeployment } from "../support/deployments.ts";
import { createBucket, listKeys } from "../support/exported-files.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { imageValues, openRelease, type Release, type Values } from "../support/kubernetes/helm.ts";
import { type IngressProxy, startIngressProxy } from "../support/kubernetes/ingress-proxy.ts";
import { startLoad } from "../support/kubernetes/load.ts";
import { startTcpRelay, type TcpRelay } from "../support/kubernetes/tcp-relay.ts";
import { runOn, withDatabase } from "../support/postgres.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 1_200_000 });

type Pod = KubernetesObject & {
  spec: { containers: { env?: { name: string; value?: string }[] }[]; volumes: { projected?: object }[] };
  status: { phase: string };
};

const host = process.env.TREADLE_TEST_CLUSTER_HOST!;
const apiKey = "the-key-of-the-chart-tests";
let postgres: DebianPostgres;
let rgw: CephRgw;
let git: GitServer;
let relays: Record<"storage" | "git", TcpRelay>;
let settingsFolder: TempFolder;

/** At an address that pods reach, and nobody else. */
async function startPostgres(): Promise<DebianPostgres> {
  settingsFolder = await createTempFolder("chart-settings");
  await chmod(settingsFolder.path, 0o755);
  const hba_file = join(settingsFolder.path, "pg_hba.conf");
  await writeFile(hba_file, "local all all trust\nhost all all 0.0.0.0/0 trust\n");
  const listen_addresses = `127.0.0.1,${host}`;
  return await startDebianPostgres({ settings: { max_connections: "300", listen_addresses, hba_file } });
}

function databaseUrl(database: string): string {
  const url = new URL(withDatabase(postgres.url, database));
  url.hostname = host;
  return url.href;
}

beforeAll(async () => {
  [postgres, rgw, git] = await Promise.all([startPostgres(), useCephRgw(), startGitServer()]);
  relays = {
    storage: await startTcpRelay(host, () => rgw.endpoint),
    git: await startTcpRelay(host, () => git.url),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(relays ?? {}).map((relay) => relay.stop()));
  await git?.stop();
  await postgres?.stop();
  await settingsFolder?.remove();
});

/** A namespace with a release in it, and what stands in front. */
class Site {
  readonly space: TestNamespace;
  readonly release: Release;
  readonly proxy: IngressProxy;

  private constructor(space: TestNamespace, release: Release, proxy: IngressProxy) {
    this.space = space;
    this.release = release;
    this.proxy = proxy;
  }

  static async open(): Promise<Site> {
    const space = await openNamespace();
    return new Site(space, await openRelease(space.name), await startIngressProxy(space, host));
  }

  async makeSecret(name: string, stringData: Record<string, string>): Promise<void> {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData };
    await this.space.api.apply(`${this.space.path}/secrets/${name}`, secret, "treadle-test");
  }

  fetch(path: string, init: { method?: string; body?: unknown } = {}): Promise<Response> {
    const { method = "GET", body } = init;
    return fetch(`${this.proxy.url}${path}`, {
      method,
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async call<Body>(method: string, path: string, body?: unknown) {
    const response = await this.fetch(path, { method, body });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Body };
  }

  async pods(selector: string): Promise<Pod[]> {
    const { items } = await this.space.api.list<Pod>(`${this.space.path}/pods`, selector);
    return items as Pod[];
  }

  async uids(selector = "app.kubernetes.io/name=treadle"): Promise<string[]> {
    return (await this.pods(selector)).map(({ metadata }) => metadata.uid).sort();
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await this.release.remove();
    await this.space.remove();
  }
}

/** What both modes have: this machine's image and what quickens a stop. */
const commonSettings = () => ({
  ...{ TREADLE_DATABASE_POOL: 4, TREADLE_ALLOW_PRIVATE_ADDRESSES: true, TREADLE_LOG_LEVEL: "info" },
  TREADLE_RUN_LEASE_SECONDS: 5,
});

const runEcho = (site: Site, content: string) =>
  site.call<{ messages: { content: string }[] }>("POST", "/runs/wait", {
    ...{ assistant_id: "echo", input: { messages: [{ role: "user", content }] } },
  });

describe("mode distributed", () => {
  let site: Site;
  let values: Values;
  const bucket = `chart-${randomUUID()}`;
  const shutdown = { leaveSeconds: 3, graceSeconds: 10, spareSeconds: 15 };

  beforeAll(async () => {
    site = await Site.open();
    await createBucket(rgw, bucket);
    await site.makeSecret("database", { uri: databaseUrl("postgres") });
    await site.makeSecret("bucket", { id: rgw.accessKey, key: rgw.secretKey });
    const api = new URL(site.space.access.server);
    // Less than what is asked for by default: all of them share one node, twice during an upgrade.
    const resources = { requests: { cpu: "80m", memory: "32Mi" } };
    const small = { shutdown, resources };
    const fewer = { replicas: 1 };
    // The API server is not at the address that Kubernetes tells pods: nothing serves that address here.
    const cluster = { KUBERNETES_SERVICE_HOST: api.hostname, KUBERNETES_SERVICE_PORT: Number(api.port) };
    values = {
      ...imageValues(),
      mode: "distributed",
      secrets: { TREADLE_API_KEY: apiKey, TREADLE_SECRET_KEY: "the-secret-of-the-chart-tests" },
      secretRefs: {
        DATABASE_URL: { name: "database", key: "uri" },
        TREADLE_BLOB_ACCESS_KEY_ID: { name: "bucket", key: "id" },
        TREADLE_BLOB_SECRET_ACCESS_KEY: { name: "bucket", key: "key" },
      },
      settings: {
        ...commonSettings(),
        TREADLE_PUBLIC_URL: site.proxy.url,
        // This cluster has no DNS of its own.
        TREADLE_INTERNAL_URL: site.proxy.url,
        TREADLE_BLOB_URL: `s3://${bucket}/treadle`,
        TREADLE_BLOB_ENDPOINT_URL: relays.storage.url,
        TREADLE_BLOB_REGION: rgw.region,
      },
      ingress: { enabled: true, host: "treadle.test", className: "", tlsSecret: "" },
      roleDefaults: small,
      roles: {
        ...{ api: { shutdown }, gateway: { shutdown } },
        ...{ ingest: { ...fewer, shutdown }, worker: { ...fewer, shutdown } },
        ...{ builder: { resources, settings: cluster }, controller: { ...fewer, settings: cluster } },
      },
    };
    const notes = await site.release.install(values);
    expect(notes).toContain(`Console: ${site.proxy.url}`);
  });
  afterAll(() => site?.stop());

  it("runs every role, and gives the cluster's credentials only to those that start pods", async () => {
    const pods = await site.pods("app.kubernetes.io/name=treadle");
    const roles = pods.map(
      ({ spec }) => spec.containers[0]!.env!.find(({ name }) => name === "TREADLE_ROLES")!.value,
    );
    expect(roles.sort()).toEqual(
      ["api", "api", "builder", "controller", "export", "gateway", "gateway", "ingest", "worker"].sort(),
    );
    const withToken = pods.filter(({ spec }) => spec.volumes.some(({ projected }) => projected));
    expect(withToken.map(({ metadata }) => metadata.labels!["app.kubernetes.io/component"]).sort()).toEqual([
      "builder",
      "controller",
    ]);
  });

  it("executes a run on a worker, and sends traces to ingest", async () => {
    expect(await runEcho(site, "through the chart")).toMatchObject({ status: 200 });
    const before = site.proxy.sent.get("treadle-ingest") ?? 0;
    const id = randomUUID();
    const start_time = new Date().toISOString();
    const run = { ...{ id, trace_id: id, name: "sent", run_type: "chain", start_time }, session_name: "x" };
    expect((await site.call("POST", "/api/v1/runs", { ...run, inputs: {} })).status).toBe(202);
    expect(site.proxy.sent.get("treadle-ingest")).toBe(before + 1);
    expect(await site.call("GET", `/api/v1/runs/${id}`)).toMatchObject({
      ...{ status: 200, body: { name: "sent" } },
    });
  });

  it("deploys from git, and is upgraded and rolled back without a failed request", async () => {
    const repository = await git.createRepository(
      "chart",
      quickProject("from the chart", {
        "install.js":
          'import { symlinkSync } from "node:fs";\nsymlinkSync("/app/node_modules", "node_modules");\n',
      }),
    );
    const repo_url = relays.git.urlFor(repository.url);
    const { deployment, revision } = await deploy(
      site,
      gitDeployment("chart", repo_url, {
        source_config: {
          ...{ repo_url, deployment_type: "dev", build_on_push: false, install_command: quickInstall },
        },
      }),
    );
    expect(revision).toMatchObject({ status: "DEPLOYED" });
    const version = `/d/${deployment.slug}/version`;
    expect(await site.call("GET", version)).toMatchObject({
      ...{ status: 200, body: { answer: "from the chart" } },
    });
    expect(site.proxy.sent.get("treadle-gateway")).toBeGreaterThan(0);
    expect((await listKeys(rgw, bucket)).some((key) => key.startsWith("treadle/artifacts/"))).toBe(true);
    const agent = await site.uids("treadle.dev/deployment");
    expect(agent).toHaveLength(1);

    const underLoad = async (change: () => Promise<unknown>) => {
      const before = await site.uids();
      const loads = [
        startLoad([
          () => site.fetch("/v2/deployments"),
          () => site.fetch("/threads", { method: "POST", body: {} }),
        ]),
        startLoad([
          () => site.fetch(version),
          () => site.fetch(`/d/${deployment.slug}/echo`, { method: "POST", body: { a: 1 } }),
        ]),
      ];
      const begun = performance.now();
      await change();
      // Until the last pod of before has stopped, and a thousand requests have passed at least.
      await waitUntil(
        async () => {
          const now = await site.uids();
          return (
            before.every((uid) => !now.includes(uid)) && loads.every(({ answered }) => answered >= 1_000)
          );
        },
        { what: "the pods of before to be gone", timeoutMs: 300_000, intervalMs: 200 },
      );
      await Promise.all(loads.map((load) => load.stop()));
      const [api, gateway] = loads.map(({ answered }) => answered);
      const seconds = Math.round((performance.now() - begun) / 1000);
      console.log(`${api} requests to api and ${gateway} to gateway in ${seconds} s`);
      expect(loads.flatMap(({ failures }) => failures)).toEqual([]);
    };
    await underLoad(() =>
      site.release.install({ ...values, podAnnotations: { "treadle.test/upgraded": "true" } }),
    );
    await underLoad(() => site.release.rollback(1));
    expect((await site.release.history()).map(({ status }) => status)).toEqual([
      ...["superseded", "superseded", "deployed"],
    ]);
    // What is deployed was not touched, and the new controller looks after it.
    expect(await site.uids("treadle.dev/deployment")).toEqual(agent);
    expect((await site.call("DELETE", `/v2/deployments/${deployment.id}`)).status).toBeLessThan(300);
    await waitUntil(async () => (await site.uids("treadle.dev/deployment")).length === 0, {
      ...{ what: "the agent's pod to be gone", timeoutMs: 300_000 },
    });
  });
});

describe("mode single", () => {
  let site: Site;
  let values: Values;
  let volume: string;
  let folder: TempFolder;

  beforeAll(async () => {
    site = await Site.open();
    folder = await createTempFolder("chart-volume");
    await chown(folder.path, 1000, 1000);
    await chmod(folder.path, 0o755);
    // This cluster makes no volumes by itself.
    volume = `/api/v1/persistentvolumes/${site.space.name}`;
    const size = { storage: "1Gi" };
    const shared = { accessModes: ["ReadWriteOnce"], storageClassName: "" };
    await site.space.api.apply(
      volume,
      {
        ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: site.space.name } },
        spec: { ...shared, capacity: size, hostPath: { path: folder.path } },
      },
      "treadle-test",
    );
    await site.space.api.apply(
      `${site.space.path}/persistentvolumeclaims/data`,
      {
        ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" } },
        spec: { ...shared, volumeName: site.space.name, resources: { requests: size } },
      },
      "treadle-test",
    );
    const database = `single_${randomUUID().replaceAll("-", "")}`;
    await runOn(postgres.url, `create database ${database}`);
    await site.makeSecret("settings", { DATABASE_URL: databaseUrl(database), TREADLE_API_KEY: apiKey });
    values = {
      ...imageValues(),
      ...{ existingSecret: "settings", persistence: { existingClaim: "data" } },
      settings: { ...commonSettings(), TREADLE_PUBLIC_URL: site.proxy.url },
      ingress: { enabled: true, host: "treadle.test", className: "", tlsSecret: "" },
      shutdown: { leaveSeconds: 0, graceSeconds: 5, spareSeconds: 15 },
      resources: { requests: { cpu: "100m", memory: "64Mi" } },
    };
    await site.release.install(values);
  });
  afterAll(async () => {
    await site?.stop();
    if (site) await site.space.api.remove(volume);
    await folder?.remove();
  });

  it("keeps what it has through an upgrade and a rollback", async () => {
    const served = () =>
      waitUntil(async () => (await site.fetch("/ok")).ok, { what: "the pod to serve", timeoutMs: 300_000 });
    await served();
    const { body: thread } = await site.call<{ thread_id: string }>("POST", "/threads", {});
    expect((await runEcho(site, "alone")).status).toBe(200);
    const first = await site.uids();
    expect(first).toHaveLength(1);
    await site.release.install({ ...values, podAnnotations: { "treadle.test/upgraded": "true" } });
    await served();
    const second = await site.uids();
    expect(second).not.toEqual(first);
    expect((await site.call("GET", `/threads/${thread.thread_id}`)).status).toBe(200);
    await site.release.rollback(1);
    await served();
    expect(await site.uids()).not.toEqual(second);
    expect((await site.call("GET", `/threads/${thread.thread_id}`)).status).toBe(200);
    await site.release.uninstall();
    await waitUntil(async () => (await site.uids()).length === 0, {
      what: "its pod to end",
      timeoutMs: 300_000,
    });
  });
});
