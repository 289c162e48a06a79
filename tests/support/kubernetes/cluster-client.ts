import { randomBytes } from "node:crypto";
import { readKubernetesAccess } from "../../../src/control-plane/runtimes/kubernetes/access.ts";
import { KubernetesApi } from "../../../src/control-plane/runtimes/kubernetes/api.ts";
import { waitUntil } from "../components/wait-until.ts";

/** The cluster of this run, and a namespace of a test's own in it. */
export async function openNamespace({ server }: { server?: (url: string) => string } = {}) {
  const kubeconfig = process.env.KUBECONFIG;
  if (!kubeconfig) throw new Error("These tests need a cluster: run them with `npm run test:kubernetes`.");
  const access = await readKubernetesAccess({ kubeconfig });
  const api = new KubernetesApi({ ...access, ...(server ? { server: server(access.server) } : {}) });
  const name = `treadle-test-${randomBytes(5).toString("hex")}`;
  const path = `/api/v1/namespaces/${name}`;
  await api.apply(path, { apiVersion: "v1", kind: "Namespace", metadata: { name } }, "treadle-test");
  // Pods are refused before the namespace has it.
  await waitUntil(() => api.get(`${path}/serviceaccounts/default`), {
    ...{ what: "the namespace's account", timeoutMs: 30_000 },
  });
  return {
    ...{ access, api, name, path },
    apps: `/apis/apps/v1/namespaces/${name}`,
    async remove() {
      await api.remove(path);
      await waitUntil(async () => (await api.get(path)) === null, {
        ...{ what: `the namespace ${name} to be gone`, timeoutMs: 300_000 },
      });
      api.close();
    },
  };
}

export type TestNamespace = Awaited<ReturnType<typeof openNamespace>>;
