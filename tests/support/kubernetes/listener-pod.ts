import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubernetesObject } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { createTempFolder } from "../components/temp-folder.ts";
import { waitUntil } from "../components/wait-until.ts";
import type { TestNamespace } from "./cluster-client.ts";
import { makeKeys } from "./cluster-keys.ts";
import { agentImage } from "./images.ts";
import { makeAccount } from "./platform-account.ts";
import { startTcpRelay } from "./tcp-relay.ts";

type Pod = KubernetesObject & {
  status: { podIP?: string; conditions?: { type: string; status: string }[]; containerStatuses?: object[] };
};
type Container = { image: string; env: { name: string; value: string }[]; volumeMounts: object[] };
type Item = KubernetesObject & {
  spec: { template: { spec: { containers: [Container]; volumes: object[] } } };
};

const manifest = new URL("../../../deploy/kubernetes-listener.json", import.meta.url);
const port = 8124;

export type ListenerPodOptions = {
  listenerId: string;
  key: string;
  /** On this machine. */
  platformUrl: string;
  databaseUrl: string;
  settings?: Record<string, string>;
};

/**
 * A listener as `deploy/kubernetes-listener.json` has it. Here its volume goes with it, the cluster has neither DNS nor addresses of
 * Services, and it reaches the platform and PostgreSQL of this machine through relays, the platform over https.
 */
export async function startListenerPod(space: TestNamespace, options: ListenerPodOptions) {
  const host = process.env.TREADLE_TEST_CLUSTER_HOST!;
  const folder = await createTempFolder("listener-pod");
  await makeKeys(folder.path, host);
  const read = (name: string) => readFile(join(folder.path, name), "utf8");
  const tls = { cert: await read("server.crt"), key: await read("server.key") };
  let address = "";
  const relays = {
    platform: await startTcpRelay(host, () => options.platformUrl, tls),
    database: await startTcpRelay(host, () => options.databaseUrl),
    listener: await startTcpRelay(host, () => `http://${address}:${port}`),
  };
  const { api, path, apps } = space;
  const apply = (at: string, object: object) => api.apply(at, object, "treadle-test");
  const pods = async () => {
    const { items } = await api.list<Pod>(`${path}/pods`, "app.kubernetes.io/component=listener");
    return items as Pod[];
  };
  const stop = async () => {
    await Promise.all(Object.values(relays).map((relay) => relay.stop()));
    await folder.remove();
  };

  await makeAccount(space);
  await apply(`${path}/secrets/treadle-listener`, {
    ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "treadle-listener" } },
    stringData: {
      ...{ TREADLE_PLATFORM_KEY: options.key, TREADLE_SECRET_KEY: "the-secret-of-the-listener" },
      DATABASE_URL: relays.database.urlFor(options.databaseUrl),
    },
  });
  await apply(`${path}/configmaps/authority`, {
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "authority" } },
    data: { "authority.crt": await read("ca.crt") },
  });
  const server = new URL(space.access.server);
  const settings: Record<string, string> = {
    ...{ TREADLE_PLATFORM_URL: relays.platform.url, TREADLE_LISTENER_ID: options.listenerId },
    ...{ TREADLE_PUBLIC_URL: relays.listener.url, TREADLE_INTERNAL_URL: relays.listener.url },
    ...{ TREADLE_KUBERNETES_IMAGE: agentImage, NODE_EXTRA_CA_CERTS: "/authority/authority.crt" },
    ...{ KUBERNETES_SERVICE_HOST: server.hostname, KUBERNETES_SERVICE_PORT: server.port },
    ...{ TREADLE_DATABASE_POOL: "4", ...options.settings },
  };
  const { items } = JSON.parse(await readFile(manifest, "utf8")) as { items: Item[] };
  const deployment = items.find(({ kind }) => kind === "Deployment")!;
  const { spec } = deployment.spec.template;
  const [container] = spec.containers;
  container.image = agentImage;
  container.env = [
    ...container.env.filter(({ name }) => settings[name] === undefined),
    ...Object.entries(settings).map(([name, value]) => ({ name, value })),
  ];
  container.volumeMounts.push({ name: "authority", mountPath: "/authority", readOnly: true });
  spec.volumes = [
    { name: "data", emptyDir: {} },
    { name: "authority", configMap: { name: "authority" } },
  ];
  const service = items.find(({ kind }) => kind === "Service")!;
  await apply(`${path}/services/treadle-listener`, service);
  await apply(`${apps}/deployments/treadle-listener`, deployment);
  let last: Pod[] = [];
  await waitUntil(
    async () => {
      last = await pods();
      const ready = last.find(({ status }) =>
        status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
      );
      address = ready?.status.podIP ?? "";
      return address !== "";
    },
    {
      ...{ what: "the listener's pod to be ready", timeoutMs: 300_000 },
      evidence: () => JSON.stringify(last.map(({ status }) => status)),
    },
  );
  return { url: relays.listener.url, stop };
}

export type ListenerPod = Awaited<ReturnType<typeof startListenerPod>>;
