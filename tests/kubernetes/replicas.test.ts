import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Handle } from "../../src/control-plane/runtimes/runtime.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { DeploymentBody } from "../support/deployments.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

let site: KubernetesSite;
let deployment: DeploymentBody;

/** Its second step ends in another pod than the one that took the first, and nowhere else. */
const movingGraph = `import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ first: Annotation(), second: Annotation() });
const own = process.env.HOSTNAME;
export const graph = new StateGraph(State)
  .addNode("begin", () => ({ first: own }))
  .addNode("finish", async ({ first }) => {
    while (first === own) await new Promise((resolve) => setTimeout(resolve, 50));
    return { second: own };
  })
  .addEdge(START, "begin")
  .addEdge("begin", "finish")
  .addEdge("finish", END)
  .compile();
`;

beforeAll(async () => {
  site = await openKubernetesSite();
  const deployed = await site.deploy("replicas", "from two", {
    files: { "graph.js": movingGraph },
    resources: { min_scale: 2, max_scale: 3, cpu: 0.1, memory_mb: 128, memory_limit_mb: 512 },
    secrets: [{ name: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", value: "1" }],
  });
  expect([deployed.revision.status, deployed.revision.status_message]).toEqual([
    "DEPLOYED",
    expect.anything(),
  ]);
  deployment = deployed.deployment;
}, 900_000);
afterAll(() => site?.stop());

type Endpoint = { name: string; ready: boolean };

async function endpoints(): Promise<Endpoint[]> {
  const { rows } = await raw<Endpoint>`
    select e.name, e.ready from deployment_endpoints e join deployment_instances i on i.id = e.instance_id
    where i.deployment_id = ${deployment.id} and i.state = 'ready' order by e.name`.execute(
    site.database.database.sql,
  );
  return rows;
}

const readyNames = async () => (await endpoints()).filter(({ ready }) => ready).map(({ name }) => name);

const untilServedBy = (count: number) =>
  waitUntil(async () => (await readyNames()).length === count, {
    ...{ what: `${count} pods to serve`, timeoutMs: 300_000 },
  });

async function handle(): Promise<Handle> {
  const { rows } = await raw<{ handle: Handle }>`
    select handle from deployment_instances where deployment_id = ${deployment.id} and state = 'ready'`.execute(
    site.database.database.sql,
  );
  return rows[0]!.handle;
}

const path = (rest: string) => `/d/${deployment.slug}${rest}`;

type State = { values: { first?: string; second?: string } };

/** A run that has taken its first step. */
async function beginRun() {
  const plane = site.plane();
  const thread = await plane.call<{ thread_id: string }>("POST", path("/threads"), {});
  const runs = path(`/threads/${thread.body.thread_id}/runs`);
  const made = await plane.call<{ run_id: string }>("POST", runs, { assistant_id: "echo", input: {} });
  expect(made.status).toBe(200);
  const state = async () =>
    (await plane.call<State>("GET", path(`/threads/${thread.body.thread_id}/state`))).body.values;
  const first = await waitUntil(async () => (await state())?.first, {
    ...{ what: "the first step", timeoutMs: 300_000 },
  });
  const status = async () =>
    (await plane.call<{ status: string }>("GET", `${runs}/${made.body.run_id}`)).body.status;
  return { first: first!, state, status };
}

async function goesOn({ first, state, status }: Awaited<ReturnType<typeof beginRun>>): Promise<void> {
  await waitUntil(async () => (await status()) === "success", {
    ...{ what: "the run to go on in the other pod", timeoutMs: 300_000 },
  });
  const { second } = await state();
  expect(second).toBeTruthy();
  expect(second).not.toBe(first);
}

describe("several replicas of one server", { timeout: 900_000 }, () => {
  it("serve beside one another, with what they ask for set aside and one taken away at a time", async () => {
    const names = await readyNames();
    expect(names).toHaveLength(2);
    const served = new Set<unknown>();
    for (let count = 0; count < 6; count += 1) {
      const { status, body } = await site.plane().call("GET", path("/environment"));
      expect(status).toBe(200);
      served.add(body.HOSTNAME);
    }
    expect([...served].sort()).toEqual(names);
    type Budget = { status?: { disruptionsAllowed?: number } };
    const { items } = await site.space.api.list<Budget>(
      `/apis/policy/v1/namespaces/${site.space.name}/poddisruptionbudgets`,
      `treadle.dev/deployment=${deployment.id}`,
    );
    expect(items).toHaveLength(1);
    const [pod] = (await site.pods(deployment.id)) as unknown as {
      spec: { containers: { resources: object }[] };
    }[];
    expect(pod!.spec.containers[0]!.resources).toEqual({
      requests: { cpu: "100m", memory: String(128 * 1024 * 1024) },
      limits: { cpu: "200m", memory: String(512 * 1024 * 1024) },
    });
  });

  it("go on with the run of a pod that is killed", async () => {
    const run = await beginRun();
    await site.space.api.remove(`${site.space.path}/pods/${run.first}`, { graceSeconds: 0 });
    await goesOn(run);
    await untilServedBy(2);
  });

  it("lose neither a run nor a request when one is taken away", async () => {
    const run = await beginRun();
    let answered = 0;
    const refused: unknown[] = [];
    let isOver = false;
    const asking = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status, body } = await site.plane().call("GET", path("/version"));
        if (status === 200) answered += 1;
        else refused.push([status, body]);
      }
    });
    const before = answered;
    // The least busy one goes first, whatever else the cluster would choose by.
    const busy = new Map((await readyNames()).map((name) => [name, name === run.first ? 0 : 5]));
    await site.runtime().scale!(await handle(), 1, busy);
    await waitUntil(async () => !(await readyNames()).includes(run.first), {
      ...{ what: "the pod to be no endpoint any more", timeoutMs: 300_000 },
    });
    await goesOn(run);
    isOver = true;
    await Promise.all(asking);
    expect(refused).toEqual([]);
    expect(answered).toBeGreaterThan(before);
  });

  it("leave nothing when they are deleted", async () => {
    expect((await site.plane().call("DELETE", `/v2/deployments/${deployment.id}`)).status).toBeLessThan(300);
    const { name, path: core, apps } = site.space;
    const kinds = [
      ...[`${apps}/deployments`, `${core}/pods`, `${core}/secrets`],
      `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets`,
    ];
    const left = async () => {
      const listed = kinds.map((kind) =>
        site.space.api.list(kind, `treadle.dev/deployment=${deployment.id}`),
      );
      return (await Promise.all(listed)).flatMap(({ items }) => items);
    };
    await waitUntil(async () => (await left()).length === 0, {
      ...{ what: "everything to be gone", timeoutMs: 300_000 },
    });
  });
});
