import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { DeploymentBody } from "../support/deployments.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";
import { canJoinNode, joinNode, type SecondNode } from "../support/kubernetes/second-node.ts";

let site: KubernetesSite;
let second: SecondNode;
/** Its pod is on the first node in the end. */
let moved: DeploymentBody;

/** Says one thing, then waits until another pod has it, and says another. */
const longGraph = `import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({
  said: Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});
const own = process.env.HOSTNAME;
const entry = (words) => ({ said: [{ words, pod: own }] });
export const graph = new StateGraph(State)
  .addNode("begin", () => entry("begun"))
  .addNode("finish", async ({ said }) => {
    while (said[0].pod === own) await new Promise((resolve) => setTimeout(resolve, 50));
    return entry("ended");
  })
  .addEdge(START, "begin")
  .addEdge("begin", "finish")
  .addEdge("finish", END)
  .compile();
`;
/** Asks others from its pod. */
const askingApp = `import { Hono } from "hono";
export const app = new Hono();
app.get("/version", (c) => c.json({ answer: "from both" }));
app.get("/ask", async (c) => {
  const asked = fetch(c.req.query("url"), { signal: AbortSignal.timeout(5_000) });
  const status = await asked.then((answer) => answer.status, () => null);
  return c.json({ status, pod: process.env.HOSTNAME });
});
`;
const files = { "graph.js": longGraph };
const secrets = [{ name: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", value: "1" }];

const node = (name: string) => `/api/v1/nodes/${name}`;

async function otherNodes(): Promise<string[]> {
  const { items } = await site.space.api.list<object>("/api/v1/nodes", "");
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== second.name);
}

/** Whether the scheduler may put pods on the nodes that stay. */
async function openOthers(isOpen: boolean): Promise<void> {
  for (const name of await otherNodes())
    await site.space.api.patch(node(name), { spec: { unschedulable: !isOpen } }, "treadle-test");
}

type Placed = { metadata: { name: string; uid: string }; spec: { nodeName: string } };

/** All of them, also those that are being removed. */
async function allPods({ id }: DeploymentBody): Promise<Placed[]> {
  const { items } = await site.space.api.list<Placed>(
    `${site.space.path}/pods`,
    `treadle.dev/deployment=${id}`,
  );
  return items;
}

async function endpoints({ id }: DeploymentBody): Promise<{ name: string; ready: boolean }[]> {
  const { rows } = await raw<{ name: string; ready: boolean }>`
    select e.name, e.ready from deployment_endpoints e join deployment_instances i on i.id = e.instance_id
    where i.deployment_id = ${id}`.execute(site.database.database.sql);
  return rows;
}

async function logLines({ id }: DeploymentBody): Promise<string[]> {
  const { rows } = await raw<{ message: string }>`
    select message from deployment_logs where deployment_id = ${id} and kind = 'deploy' order by id`.execute(
    site.database.database.sql,
  );
  return rows.map(({ message }) => message);
}

/** A pod on the second node gets through the Service of another server to its pod on the first, whose door is closed to it. */
async function reachesService(deployment: DeploymentBody): Promise<void> {
  type Service = { spec: { clusterIP: string; ports: { port: number }[] } };
  const { items } = await site.space.api.list<Service>(
    `${site.space.path}/services`,
    `treadle.dev/deployment=${moved.id}`,
  );
  const { clusterIP, ports } = items[0]!.spec;
  const asking = (await allPods(deployment)).find(({ spec }) => spec.nodeName === second.name)!;
  const url = encodeURIComponent(`http://${clusterIP}:${ports[0]!.port}/ok`);
  // Their own policy lets no server reach another; policies add up.
  const opened = `/apis/networking.k8s.io/v1/namespaces/${site.space.name}/networkpolicies/opened`;
  const policy = {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "opened" } },
    spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"], ingress: [{}], egress: [{}] },
  };
  await site.space.api.apply(opened, policy, "treadle-test");
  const answer = await waitUntil(
    async () => {
      const { body } = await site.plane().call("GET", `/d/${deployment.slug}/ask?url=${url}`);
      // Services work on the second node alone, a moment after they are made.
      return body.pod === asking.metadata.name && body.status !== null ? body : undefined;
    },
    { what: "an answer through the Service", timeoutMs: 300_000, evidence: second.output },
  );
  expect(answer).toEqual({ status: 403, pod: asking.metadata.name });
  await site.space.api.remove(opened);
}

type Told = { status: string; health: { state: string; message: string | null } };

const told = async ({ id }: DeploymentBody) =>
  (await site.plane().call<Told>("GET", `/v2/deployments/${id}`)).body;

/** The node is back, and whatever was left there is gone. */
async function untilWhole(deployment: DeploymentBody, pods: number): Promise<void> {
  await second.restore();
  await waitUntil(async () => (await allPods(deployment)).length === pods, {
    ...{ what: "the lost pod to be gone", timeoutMs: 600_000, intervalMs: 500, evidence: second.output },
  });
  type Node = { spec: { taints?: unknown[] } };
  await waitUntil(
    async () => ((await site.space.api.get<Node>(node(second.name)))?.spec.taints ?? []).length === 0,
    { what: "the node to be a good one again", timeoutMs: 600_000, intervalMs: 500 },
  );
}

function record(what: string, sinceMs: number): void {
  console.log(`node loss: ${what} after ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`);
}

describe.skipIf(!canJoinNode())("a node that is lost", { timeout: 1_800_000 }, () => {
  beforeAll(async () => {
    site = await openKubernetesSite();
    second = await joinNode();
  }, 1_800_000);
  afterAll(async () => {
    if (second) await openOthers(true);
    await second?.restore();
    await site?.stop();
    await second?.stop();
  }, 900_000);

  it("takes a server of one pod with it for less than the cluster needs to notice, and its run goes on", async () => {
    await openOthers(false);
    const { deployment, revision } = await site.deploy("lost", "still there", { files, secrets });
    expect(revision).toMatchObject({ status: "DEPLOYED" });
    await openOthers(true);
    const [before] = await allPods(deployment);
    expect(before!.spec.nodeName).toBe(second.name);
    const path = (rest: string) => `/d/${deployment.slug}${rest}`;
    const plane = site.plane();
    const thread = await plane.call<{ thread_id: string }>("POST", path("/threads"), {});
    const threadPath = path(`/threads/${thread.body.thread_id}`);
    const made = await plane.call<{ run_id: string }>("POST", `${threadPath}/runs`, {
      ...{ assistant_id: "echo", input: {} },
    });
    expect(made.status).toBe(200);
    type Said = { values: { said?: { words: string; pod: string }[] } };
    const said = async () => (await plane.call<Said>("GET", `${threadPath}/state`)).body.values?.said ?? [];
    await waitUntil(async () => (await said()).length === 1, {
      ...{ what: "the first step", timeoutMs: 300_000 },
    });
    // On a connection that is open when the node goes, with no end of its own.
    const waiting = plane.call("GET", `${threadPath}/runs/${made.body.run_id}/join`);
    await second.cut();
    const cutAt = performance.now();
    void waiting.then(
      () => record("a request that was under way has an answer", cutAt),
      () => record("a request that was under way is cut", cutAt),
    );
    const answers = new Set<number>();
    const health = new Set<string>();
    const statuses = new Set<string>();
    await waitUntil(
      async () => {
        const { status, body } = await plane.call("GET", path("/version"));
        answers.add(status);
        const now = await told(deployment);
        statuses.add(now.status);
        health.add(`${now.health.state}: ${now.health.message}`);
        return status === 200 && body.answer === "still there";
      },
      { what: "the deployment to serve again", timeoutMs: 600_000, intervalMs: 250 },
    );
    record("a server of one pod serves again", cutAt);
    expect([...answers].filter((status) => status !== 200)).toEqual([503]);
    expect([...statuses]).toEqual([(await told(deployment)).status]);
    expect([...health].join()).toMatch(/restarting: None of its pods takes requests: .*their node was lost/);
    await waiting.catch(() => undefined);
    const status = async () =>
      (await plane.call<{ status: string }>("GET", `${threadPath}/runs/${made.body.run_id}`)).body.status;
    await waitUntil(async () => (await status()) === "success", {
      ...{ what: "the run to end elsewhere", timeoutMs: 600_000, intervalMs: 250 },
    });
    record("its run has ended", cutAt);
    const served = (await endpoints(deployment)).map(({ name }) => name);
    expect(served).not.toContain(before!.metadata.name);
    expect(await said()).toEqual([
      { words: "begun", pod: before!.metadata.name },
      { words: "ended", pod: served[0] },
    ]);
    const after = (await allPods(deployment)).find(({ metadata }) => metadata.name === served[0]);
    expect(after!.spec.nodeName).not.toBe(second.name);
    const line = `The node ${second.name} does not respond. Its pod ${before!.metadata.name} is replaced by one on another node, which continues its runs.`;
    expect((await logLines(deployment)).filter((message) => message.includes("does not respond"))).toEqual([
      line,
    ]);
    await untilWhole(deployment, 1);
    expect(await endpoints(deployment)).toEqual([{ name: served[0], ready: true }]);
    expect((await told(deployment)).health.state).toBe("serving");
    expect((await said()).map(({ words }) => words)).toEqual(["begun", "ended"]);
    moved = deployment;
  });

  it("is not noticed by those who ask a server with another pod elsewhere", async () => {
    const { deployment } = await site.deploy("two", "from both", {
      ...{ files: { "app.js": askingApp }, resources: { min_scale: 2 }, secrets },
    });
    await reachesService(deployment);
    const nodes = (await allPods(deployment)).map(({ spec }) => spec.nodeName).sort();
    expect(nodes).toEqual([...(await otherNodes()), second.name].sort());
    const stop = new AbortController();
    const refused: unknown[] = [];
    let longestMs = 0;
    let answered = 0;
    const asking = Array.from({ length: 3 }, async () => {
      while (!stop.signal.aborted) {
        const begun = performance.now();
        const { status, body } = await site.plane().call("GET", `/d/${deployment.slug}/version`);
        longestMs = Math.max(longestMs, performance.now() - begun);
        if (status === 200) answered += 1;
        else refused.push([status, body]);
      }
    });
    await waitUntil(() => answered > 20, { what: "some answers", timeoutMs: 300_000 });
    await second.cut();
    const cutAt = performance.now();
    await waitUntil(
      async () => {
        const shown = await endpoints(deployment);
        const placed = new Map(
          (await allPods(deployment)).map(({ metadata, spec }) => [metadata.name, spec]),
        );
        const here = shown.filter(({ name }) => placed.get(name)?.nodeName !== second.name);
        return here.length === 2 && here.every(({ ready }) => ready);
      },
      { what: "two pods on the other node", timeoutMs: 600_000, intervalMs: 250 },
    );
    record("both pods serve on the other node", cutAt);
    stop.abort();
    await Promise.all(asking);
    console.log(`node loss: the slowest of ${answered} requests took ${(longestMs / 1000).toFixed(1)} s`);
    expect(refused).toEqual([]);
    await untilWhole(deployment, 2);
    expect(await endpoints(deployment)).toHaveLength(2);
  });
});
