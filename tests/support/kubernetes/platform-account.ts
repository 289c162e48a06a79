import { readFile, writeFile } from "node:fs/promises";
import { KubernetesApi, type KubernetesObject } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { waitUntil } from "../components/wait-until.ts";
import type { TestNamespace } from "./cluster-client.ts";

type Item = { apiVersion: string; kind: string; metadata: { name: string }; subjects?: object[] };

const manifest = new URL("../../../deploy/kubernetes-role.json", import.meta.url);

/** The API as the account of the manifest may use it, and not as this machine's administrator. */
export async function openAsPlatform(space: TestNamespace): Promise<KubernetesApi> {
  const { server, authority, namespace } = space.access;
  const token = await makeAccount(space);
  return new KubernetesApi({
    ...{ server, namespace, token: async () => token },
    ...(authority ? { authority } : {}),
  });
}

/** The same as a file for KUBECONFIG. */
export async function writePlatformConfig(
  space: TestNamespace,
  path: string,
  through: (url: string) => string = (url) => url,
): Promise<void> {
  const { server: direct, authority = "" } = space.access;
  const server = through(direct);
  const name = "treadle";
  const cluster = { server, "certificate-authority-data": Buffer.from(authority).toString("base64") };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": name },
    clusters: [{ name, cluster }],
    users: [{ name, user: { token: await makeAccount(space) } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: space.name } }],
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
}

const clusterManifest = new URL("../../../deploy/kubernetes-cluster-role.json", import.meta.url);
const clusterPaths: Record<string, string> = {
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  ValidatingAdmissionPolicy: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
};

/** The rights for namespaces of workspaces, as the manifest has them; removes them again. */
export async function giveClusterRights(space: TestNamespace): Promise<() => Promise<void>> {
  // The objects belong to no namespace, and other tests have their own.
  const text = (await readFile(clusterManifest, "utf8"))
    .replaceAll("serviceaccount:treadle:", `serviceaccount:${space.name}:`)
    .replaceAll("request.namespace == 'treadle'", `request.namespace == '${space.name}'`)
    .replaceAll("platform-namespace'] == 'treadle'", `platform-namespace'] == '${space.name}'`)
    .replaceAll("startsWith('treadle-')", `startsWith('${space.name}-')`)
    .replaceAll('"namespace": "treadle"', `"namespace": "${space.name}"`)
    .replace(/("metadata": \{ "name"|"policyName"): "treadle"/g, `$1: "${space.name}"`)
    .replace('"kind": "ClusterRole", "name": "treadle"', `"kind": "ClusterRole", "name": "${space.name}"`);
  const { items } = JSON.parse(text) as { items: Item[] };
  const made = items.map((item) => ({ item, path: `${clusterPaths[item.kind]}/${item.metadata.name}` }));
  for (const { item, path } of made) await space.api.apply(path, item, "treadle-test");
  return async () => {
    for (const { path } of made) await space.api.remove(path);
  };
}

/** Of the manifest, with its token. */
export async function makeAccount(space: TestNamespace): Promise<string> {
  const { items } = JSON.parse(await readFile(manifest, "utf8")) as { items: Item[] };
  for (const item of items) {
    const subjects = item.subjects?.map((subject) => ({ ...subject, namespace: space.name }));
    await space.api.apply(
      pathOf(space, item),
      { ...item, ...(subjects ? { subjects } : {}) },
      "treadle-test",
    );
  }
  const path = `${space.path}/secrets/treadle-token`;
  const annotations = { "kubernetes.io/service-account.name": "treadle" };
  const metadata = { name: "treadle-token", annotations };
  const secret = { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/service-account-token", metadata };
  await space.api.apply(path, secret, "treadle-test");
  const token = await waitUntil(
    async () => (await space.api.get<KubernetesObject & { data?: { token?: string } }>(path))?.data?.token,
    { what: "the account's token", timeoutMs: 30_000 },
  );
  return Buffer.from(token!, "base64").toString();
}

function pathOf({ name, path }: TestNamespace, { kind, metadata }: Item): string {
  if (kind === "ServiceAccount") return `${path}/serviceaccounts/${metadata.name}`;
  const plural = kind === "Role" ? "roles" : "rolebindings";
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/${plural}/${metadata.name}`;
}
