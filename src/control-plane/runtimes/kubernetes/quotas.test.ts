import { describe, expect, it } from "vitest";
import { type Asked, openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { createLogger } from "../../../platform/logger.ts";
import { KubernetesQuotas, quotaName, type WorkspaceQuota } from "./quotas.ts";

const { server, api } = await openApiServer();

const none: WorkspaceQuota = { memoryBytes: null, cpus: null, pods: null };
const some: WorkspaceQuota = { memoryBytes: 2 * 1024 ** 3, cpus: 1, pods: 5 };
const logger = createLogger({ level: "silent" });
const quotas = (quota: WorkspaceQuota) =>
  new KubernetesQuotas({ api, namespace: "agents", installation: "treadle", quota, logger });
const own = async () => new Set(["agents-a", "agents-b"]);
const pathIn = (namespace: string) => `/api/v1/namespaces/${namespace}/resourcequotas/${quotaName}`;
const found = (namespace: string, hard: object, name = quotaName) => ({
  ...{ metadata: { name, namespace, uid: "u", resourceVersion: "1" }, spec: { hard } },
});

const forbidden = { kind: "Status", reason: "Forbidden", code: 403, message: "it is forbidden" };

/** The cluster has these, and answers changes so; the changes that were asked for come back. */
async function changesOf(
  items: object[],
  quota: WorkspaceQuota,
  refusal?: { code: number },
): Promise<string[]> {
  server.answer(({ method }, response) => {
    if (method === "GET") sendJson(response, { metadata: { resourceVersion: "1" }, items });
    else sendJson(response, refusal ?? { metadata: {} }, refusal?.code);
  });
  await quotas(quota).keepAll(own);
  return server.asked
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }: Asked) => `${method} ${path}`);
}

describe("the limits of workspaces", () => {
  it("are memory by limits, processors by requests, and pods", async () => {
    server.answer((_asked, response) => sendJson(response, { metadata: {} }));
    await quotas(some).keep("agents-a");
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]).toMatchObject({
      ...{ method: "PATCH", path: pathIn("agents-a") },
      body: { spec: { hard: { "limits.memory": "2048Mi", "requests.cpu": "1000m", pods: "5" } } },
    });
    await quotas(none).keep("agents-a");
    expect(server.asked).toHaveLength(1);
  });

  it("are left alone where they are the same, in whatever way the cluster writes them", async () => {
    const same = { "limits.memory": "2Gi", "requests.cpu": "1", pods: "5" };
    expect(await changesOf([found("agents-a", same), found("agents-b", same)], some)).toEqual([]);
  });

  it("are changed where they differ or are missing, in our namespaces alone", async () => {
    const other = { "limits.memory": "1Gi", "requests.cpu": "1", pods: "5" };
    const more = { "limits.memory": "2Gi", "requests.cpu": "1", pods: "5", services: "1" };
    const items = [found("agents-a", other), found("agents-b", more), found("not-ours", other)];
    const both = ["agents-a", "agents-b"].map((namespace) => `PATCH ${pathIn(namespace)}`);
    expect(await changesOf(items, some)).toEqual(both);
    expect(await changesOf([], some)).toEqual(both);
  });

  it("go when there are none any more, and those of others stay", async () => {
    const items = [found("agents-a", { pods: "5" }), found("agents-b", { pods: "5" }, "of-others")];
    expect(await changesOf(items, none)).toEqual([`DELETE ${pathIn("agents-a")}`]);
  });

  it("are tried in each namespace, though one is refused or gone", async () => {
    const both = ["agents-a", "agents-b"];
    const made = both.map((namespace) => `PATCH ${pathIn(namespace)}`);
    for (const refusal of [forbidden, { ...forbidden, code: 404 }])
      expect(await changesOf([], some, refusal)).toEqual(made);
    const removed = both.map((namespace) => `DELETE ${pathIn(namespace)}`);
    const items = both.map((namespace) => found(namespace, { pods: "5" }));
    expect(await changesOf(items, none, forbidden)).toEqual(removed);
  });

  it("need rights only where there are some", async () => {
    server.answer((_asked, response) => sendJson(response, forbidden, 403));
    await quotas(none).keepAll(own);
    await expect(quotas(some).keepAll(own)).rejects.toThrow(/forbidden/);
  });
});
