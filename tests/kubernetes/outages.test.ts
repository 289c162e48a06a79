import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KubernetesRefusal } from "../../src/control-plane/runtimes/kubernetes/refusal.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, type RevisionBody, revisionDone } from "../support/deployments.ts";
import {
  imageProject,
  type KubernetesSite,
  openKubernetesSite,
} from "../support/kubernetes/kubernetes-site.ts";

let site: KubernetesSite;
let proxy: TcpProxy;
let deployment: DeploymentBody;

beforeAll(async () => {
  proxy = await startTcpProxy({ target: await clusterUrl() });
  site = await openKubernetesSite({
    server: (url) => proxy.urlFor(url),
    settings: { rollbackMs: 300_000 },
  });
  const secrets = [{ name: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", value: "1" }];
  const deployed = await site.deploy("steady", "steadily", { resources: { min_scale: 2 }, secrets });
  const { status, status_message } = deployed.revision;
  expect([status, status_message]).toEqual(["DEPLOYED", expect.anything()]);
  deployment = deployed.deployment;
}, 900_000);
afterAll(async () => {
  await site?.stop();
  await proxy?.stop();
});

/** How the tests themselves reach the API server. */
async function clusterUrl(): Promise<string> {
  const { readKubernetesAccess } = await import("../../src/control-plane/runtimes/kubernetes/access.ts");
  return (await readKubernetesAccess({ kubeconfig: process.env.KUBECONFIG })).server;
}

type Shown = { instance: string; state: string; name: string; ready: boolean };

/** All that the platform has written down about the deployment's servers. */
async function shown(): Promise<Shown[]> {
  const { rows } = await raw<Shown>`
    select i.id as instance, i.state, e.name, e.ready from deployment_instances i
    join deployment_endpoints e on e.instance_id = i.id
    where i.deployment_id = ${deployment.id} order by e.name`.execute(site.database.database.sql);
  return rows;
}

const readyNames = async () => (await shown()).filter(({ ready }) => ready).map(({ name }) => name);

/** Asks through the gateway until told to stop; gives what was not answered. */
function keepAsking() {
  const stop = new AbortController();
  const refused: unknown[] = [];
  let answered = 0;
  const asking = Array.from({ length: 2 }, async () => {
    while (!stop.signal.aborted) {
      const { status, body } = await site.plane().call("GET", `/d/${deployment.slug}/version`);
      if (status === 200) answered += 1;
      else refused.push([status, body]);
    }
  });
  return async () => {
    stop.abort();
    await Promise.all(asking);
    return { answered, refused };
  };
}

/** What a node that is drained asks for. */
async function evict(pod: string): Promise<"evicted" | "not now"> {
  const metadata = { name: pod, namespace: site.space.name };
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
  try {
    const path = `${site.space.path}/pods/${pod}/eviction`;
    (await site.space.api.open({ method: "POST", path, body })).resume();
    return "evicted";
  } catch (error) {
    if (error instanceof KubernetesRefusal && error.status === 429) return "not now";
    throw error;
  }
}

describe("on a real cluster", { timeout: 900_000 }, () => {
  it("serving goes on and no status changes while the API server is away for a minute", async () => {
    const before = await shown();
    expect(before).toHaveLength(2);
    const statusOf = async () => {
      const path = `/v2/deployments/${deployment.id}`;
      const { body } = await site.plane().call("GET", path);
      const { body: revisions } = await site.plane().call("GET", `${path}/revisions`);
      return JSON.stringify([body.status, body.active_revision_id, revisions]);
    };
    const status = await statusOf();
    await proxy.refuse();
    const stopAsking = keepAsking();
    const begun = performance.now();
    const changes: unknown[] = [];
    await waitUntil(
      async () => {
        const now = [await shown(), await statusOf()];
        if (JSON.stringify(now) !== JSON.stringify([before, status])) changes.push(now);
        return performance.now() - begun >= 60_000;
      },
      { what: "a minute to pass", timeoutMs: 300_000, intervalMs: 500 },
    );
    expect(changes).toEqual([]);
    const { answered, refused } = await stopAsking();
    expect(refused).toEqual([]);
    expect(answered).toBeGreaterThan(100);
    const [gone] = await readyNames();
    await proxy.restore();
    // What happened meanwhile is noticed afterwards.
    await site.space.api.remove(`${site.space.path}/pods/${gone}`);
    await waitUntil(
      async () => {
        const names = await readyNames();
        return names.length === 2 && !names.includes(gone!);
      },
      { what: "another pod to serve", timeoutMs: 300_000 },
    );
  });

  it("a node that is drained takes one pod at a time, and nobody notices", async () => {
    const [first, second] = await readyNames();
    const stopAsking = keepAsking();
    await waitUntil(async () => (await evict(first!)) === "evicted", {
      ...{ what: "the first pod to be evicted", timeoutMs: 300_000 },
    });
    expect(await evict(second!)).toBe("not now");
    await waitUntil(async () => (await evict(second!)) === "evicted", {
      ...{ what: "the second pod to be evicted", timeoutMs: 300_000, intervalMs: 200 },
    });
    const between = await readyNames();
    expect(between).not.toContain(first);
    await waitUntil(
      async () => {
        const names = await readyNames();
        return names.length === 2 && !names.includes(first!) && !names.includes(second!);
      },
      { what: "two other pods to serve", timeoutMs: 300_000 },
    );
    expect((await stopAsking()).refused).toEqual([]);
  });

  it("a revision whose pods only crash gives way to the one before", async () => {
    const resources = { min_scale: 1, max_scale: 2 };
    const { deployment: crashing, repository } = await site.deploy("crashing", "well", { resources });
    const dying = imageProject("dying", {
      "app.js": `import { Hono } from "hono";
export const app = new Hono();
app.get("/version", (c) => { setTimeout(() => process.exit(9), 20); return c.json({ answer: "dying" }); });
`,
    });
    await repository.commit(dying, "Crash");
    const path = `/v2/deployments/${crashing.id}`;
    const patched = await site.plane().call<DeploymentBody>("PATCH", path, {
      source_revision_config: { repo_ref: "main" },
    });
    expect(patched.status).toBe(200);
    const revisionId = patched.body.latest_revision_id!;
    expect(await revisionDone(site.plane(), crashing.id, revisionId)).toMatchObject({ status: "DEPLOYED" });
    const version = () =>
      site
        .plane()
        .call("GET", `/d/${crashing.slug}/version`)
        .then(
          ({ status, body }) => (status === 200 ? body.answer : status),
          () => "cut",
        );
    await waitUntil(async () => (await version()) === "well", {
      ...{ what: "the revision before to serve again", timeoutMs: 300_000, intervalMs: 200 },
    });
    const { body } = await site.plane().call<RevisionBody>("GET", `${path}/revisions/${revisionId}`);
    expect(body).toMatchObject({ status: "DEPLOY_FAILED" });
    expect(body.status_message).toMatch(/exit code 9.*The previous revision serves again/s);
  });
});
