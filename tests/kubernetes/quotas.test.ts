import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { KubernetesObject } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { quotaName } from "../../src/control-plane/runtimes/kubernetes/quotas.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

type Quota = KubernetesObject & { spec: { hard: Record<string, string> } };

/** Read at each start of the platform. */
const environment: Record<string, string> = {
  TREADLE_KUBERNETES_WORKSPACE_PODS: "1",
  TREADLE_KUBERNETES_WORKSPACE_CPUS: "2",
  TREADLE_KUBERNETES_WORKSPACE_MEMORY_MB: "4096",
};
let site: KubernetesSite;
let path: string;

beforeAll(async () => {
  site = await openKubernetesSite({ namespacePerWorkspace: true, environment });
  const namespace = `${site.space.name}-${site.plane().workspaceId}`;
  path = `/api/v1/namespaces/${namespace}/resourcequotas/${quotaName}`;
});
afterAll(() => site?.stop());

const hard = async () => (await site.space.api.get<Quota>(path))?.spec.hard;

it("a workspace has its limits with its namespace, and what is beyond fails in the cluster's words", async () => {
  const { revision } = await site.deploy("within", "one pod");
  expect(revision).toMatchObject({ status: "DEPLOYED" });
  expect(await hard()).toEqual({ "limits.memory": "4Gi", "requests.cpu": "2", pods: "1" });
  const beyond = await site.deploy("beyond", "one too many");
  expect(beyond.revision).toMatchObject({ status: "DEPLOY_FAILED" });
  expect(beyond.revision.status_message).toMatch(
    /Kubernetes refused its pod: .*exceeded quota: treadle-workspace, requested: pods=1, used: pods=1, limited: pods=1/,
  );
});

it("follows the settings of the next start, and goes with them", async () => {
  environment.TREADLE_KUBERNETES_WORKSPACE_PODS = "5";
  environment.TREADLE_KUBERNETES_WORKSPACE_CPUS = "0";
  await site.restart();
  await site.runtime().applyLimits!();
  expect(await hard()).toEqual({ "limits.memory": "4Gi", pods: "5" });
  const { revision } = await site.deploy("now-within", "there is room");
  expect(revision).toMatchObject({ status: "DEPLOYED" });
  for (const name of Object.keys(environment)) environment[name] = "0";
  await site.restart();
  await site.runtime().applyLimits!();
  expect(await hard()).toBeUndefined();
});
