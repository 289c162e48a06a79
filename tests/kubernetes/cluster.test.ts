import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubernetesApi, type KubernetesObject } from "../../src/control-plane/runtimes/kubernetes/api.ts";
import { KubernetesRefusal } from "../../src/control-plane/runtimes/kubernetes/refusal.ts";
import { type Seen, watchObjects } from "../../src/control-plane/runtimes/kubernetes/watch.ts";
import { startTcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { openNamespace, type TestNamespace } from "../support/kubernetes/cluster-client.ts";
import { agentImage } from "../support/kubernetes/images.ts";

let space: TestNamespace;

beforeAll(async () => {
  space = await openNamespace();
});
afterAll(() => space?.remove());

type Pod = KubernetesObject & { status: { phase: string; podIP?: string } };

/** A server in a pod: it says hello in its log and on port 8000. */
function deployment(name: string, replicas: number) {
  const code =
    'require("http").createServer((q, r) => r.end("hello")).listen(8000, () => console.log("listens"))';
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels: { app: name } } },
    spec: {
      ...{ replicas, selector: { matchLabels: { app: name } } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            { name: "server", image: agentImage, imagePullPolicy: "Never", command: ["node", "-e", code] },
          ],
        },
      },
    },
  };
}

describe("the Kubernetes client on a real cluster", () => {
  it("applies, watches until a pod serves, reads its log, and deletes", { timeout: 900_000 }, async () => {
    const stop = new AbortController();
    const watched = { path: `${space.path}/pods`, labelSelector: "app=hello", onTrouble: () => {} };
    const seen = watchObjects<Pod>(space.api, watched, stop.signal);
    expect((await seen.next()).value).toEqual({ kind: "all", objects: [] });
    const made = await space.api.apply(`${space.apps}/deployments/hello`, deployment("hello", 1), "treadle");
    const pod = await untilSeen(
      seen,
      ({ kind, object }) => kind === "changed" && object.status.phase === "Running",
    );
    const answer = await waitUntil(
      () =>
        fetch(`http://${pod.status.podIP}:8000`).then(
          (response) => response.text(),
          () => null,
        ),
      { what: "the pod's server", timeoutMs: 300_000 },
    );
    expect(answer).toBe("hello");
    const log = await space.api.open({ method: "GET", path: `${space.path}/pods/${pod.metadata.name}/log` });
    expect(await text(log)).toContain("listens");
    const path = `${space.apps}/deployments/hello`;
    expect(await space.api.remove(path, { uid: "0f0f0f0f-0000-0000-0000-000000000000" })).toBe(false);
    expect(await space.api.get(path)).not.toBeNull();
    expect(await space.api.remove(path, { uid: made.metadata.uid })).toBe(true);
    await untilSeen(seen, ({ kind }) => kind === "removed");
    stop.abort();
  });

  it("hands down the words of a refusal", async () => {
    const bad = space.api.apply(`${space.apps}/deployments/bad`, deployment("bad", -1), "treadle");
    const error = await bad.catch((refusal: unknown) => refusal as KubernetesRefusal);
    expect(error).toBeInstanceOf(KubernetesRefusal);
    expect(error).toMatchObject({ status: 422, reason: "Invalid", retryable: false });
    expect((error as KubernetesRefusal).words).toContain("spec.replicas");
  });

  it("tells what happened while the API server was away, and never that something is gone", {
    timeout: 900_000,
  }, async () => {
    const proxy = await startTcpProxy({ target: space.access.server });
    const api = new KubernetesApi({ ...space.access, server: proxy.urlFor(space.access.server) });
    const stop = new AbortController();
    const troubles: unknown[] = [];
    const path = `${space.path}/configmaps`;
    const make = (name: string) =>
      space.api.apply(
        `${path}/${name}`,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { app: "away" } } },
        "treadle",
      );
    const options = { path, labelSelector: "app=away", onTrouble: (error: unknown) => troubles.push(error) };
    await make("before");
    const seen = watchObjects(api, { ...options, firstBackoffMs: 20 }, stop.signal);
    expect(((await seen.next()).value as { objects: unknown[] }).objects).toHaveLength(1);
    const next = seen.next();
    await proxy.refuse();
    await waitUntil(() => troubles.length >= 3, { what: "three vain attempts", timeoutMs: 300_000 });
    await make("meanwhile");
    await proxy.restore();
    expect((await next).value).toMatchObject({
      kind: "changed",
      object: { metadata: { name: "meanwhile" } },
    });
    stop.abort();
    api.close();
    await proxy.stop();
  });
});

async function untilSeen(
  seen: AsyncGenerator<Seen<Pod>>,
  fits: (one: { kind: string; object: Pod }) => boolean,
): Promise<Pod> {
  for (;;) {
    const { value } = await seen.next();
    if (!value) throw new Error("The watch ended.");
    if (value.kind !== "all" && fits(value)) return value.object;
  }
}
