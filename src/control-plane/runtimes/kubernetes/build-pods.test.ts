import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { type Asked, openApiServer, sendJson } from "../../../../tests/support/kubernetes/api-server.ts";
import { createLogger } from "../../../platform/logger.ts";
import { BuildPodLost } from "../../builds/pods/build-pods.ts";
import { buildLabels, buildName } from "./build-objects.ts";
import { KubernetesBuildPods } from "./build-pods.ts";
import { buildJobGone } from "./build-words.ts";
import type { NamespacePer } from "./namespaces.ts";

const { server, api } = await openApiServer();

const order = {
  ...{ id: randomUUID(), workspaceId: randomUUID(), deploymentId: randomUUID(), revisionId: randomUUID() },
  ...{ token: "token", environment: {}, timeoutMs: 60_000 },
};
const homes: Record<NamespacePer, string> = {
  platform: "agents",
  workspace: `agents-${order.workspaceId}`,
};
const jobPath = (namespace: string) => `/apis/batch/v1/namespaces/${namespace}/jobs/${buildName(order.id)}`;

const buildsWith = (namespacePer: NamespacePer) =>
  new KubernetesBuildPods({
    ...{ api, namespace: "agents", namespacePer, installation: "treadle", image: "image" },
    ...{ memoryBytes: null, cpus: 1, maxBytes: 1, platformRanges: [], platformUrl: () => "http://10.0.0.1" },
    logger: createLogger({ level: "silent" }),
  });

/** A cluster with one build, whose pod has ended in order, in `home`; `forbidden` may not even be asked. */
function clusterWith({
  home,
  forbidden,
  lost,
}: {
  home: string | null;
  forbidden?: string;
  lost?: { labels: Record<string, string>; nodeName: string };
}) {
  const labels = buildLabels({ order, installation: "treadle" });
  const metadata = { name: buildName(order.id), namespace: home, uid: "job", resourceVersion: "1", labels };
  const status = lost
    ? { phase: "Running", containerStatuses: [{ name: "build", state: { running: {} } }] }
    : {
        phase: "Succeeded",
        containerStatuses: [{ name: "build", state: { terminated: { exitCode: 0 } } }],
      };
  const pod = {
    metadata: { ...metadata, labels: { ...labels, ...lost?.labels } },
    spec: { nodeName: lost?.nodeName },
    status,
  };
  return ({ method, path, query }: Asked, response: ServerResponse) => {
    if (forbidden && path.includes(`/namespaces/${forbidden}/`))
      return sendJson(response, { kind: "Status", reason: "Forbidden", code: 403, message: "no" }, 403);
    if (query.get("watch")) return void response.writeHead(200).flushHeaders();
    const isSeen = home !== null && (!path.includes("/namespaces/") || path.includes(`/namespaces/${home}/`));
    if (/\/(jobs|pods)$/.test(path) && method === "GET")
      return sendJson(response, {
        metadata: { resourceVersion: "1" },
        items: isSeen ? [path.endsWith("/pods") ? pod : { metadata }] : [],
      });
    const isThere = (home !== null && path === jobPath(home)) || method === "POST" || method === "PATCH";
    sendJson(response, isThere ? { metadata } : { kind: "Status", code: 404 }, isThere ? 200 : 404);
  };
}

const changes = () =>
  server.asked.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);

describe("a build that began before TREADLE_KUBERNETES_NAMESPACE_PER was changed", {
  timeout: 20_000,
}, () => {
  it.each([
    ["platform", "workspace"],
    ["workspace", "platform"],
  ] as const)("from %s to %s goes on where it is, and is removed there", async (before, after) => {
    server.answer(clusterWith({ home: homes[before] }));
    const builds = buildsWith(after);
    await builds.start(order);
    expect(changes()).toEqual([]);
    expect(await builds.ended(order, () => {}, AbortSignal.timeout(15_000))).toBeNull();
    await builds.remove(order);
    expect(changes()).toEqual([`DELETE ${jobPath(homes[after])}`, `DELETE ${jobPath(homes[before])}`]);
    expect(server.asked.at(-1)!.body).toMatchObject({ preconditions: { uid: "job" } });
  });

  it("whose node is lost says so, and not as a fault of the build", async () => {
    const lost = { labels: { "treadle.dev/lost": "true" }, nodeName: "one" };
    server.answer(clusterWith({ home: homes.platform, lost }));
    const ended = buildsWith("platform").ended(order, () => {}, AbortSignal.timeout(15_000));
    await expect(ended).rejects.toBeInstanceOf(BuildPodLost);
    await expect(ended).rejects.toThrow("The node one, on which the build ran, does not respond.");
  });

  it("is not looked for where the account has no rights: there can be none", async () => {
    server.answer(clusterWith({ home: null, forbidden: homes.workspace }));
    const builds = buildsWith("platform");
    await builds.start(order);
    expect(changes()).toContain("POST /apis/batch/v1/namespaces/agents/jobs");
    expect(await builds.ended(order, () => {}, AbortSignal.timeout(15_000))).toBe(buildJobGone);
    await builds.remove(order);
  });
});
