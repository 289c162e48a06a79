import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { DeploymentBody } from "../support/deployments.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

let site: KubernetesSite;
let deployment: DeploymentBody;

/** Each run takes as long as its input says, and tells where it ended. */
const slowGraph = `import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
const State = Annotation.Root({ ms: Annotation(), host: Annotation() });
export const graph = new StateGraph(State)
  .addNode("work", async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { host: process.env.HOSTNAME };
  })
  .addEdge(START, "work")
  .addEdge("work", END)
  .compile();
`;

beforeAll(async () => {
  site = await openKubernetesSite({ settings: { scaleDownMs: 12_000 } });
  const deployed = await site.deploy("scaling", "from many", {
    files: { "graph.js": slowGraph },
    resources: { min_scale: 1, max_scale: 3, cpu: 0.1, cpu_limit: 2, memory_limit_mb: 1_024 },
    secrets: [
      { name: "N_JOBS_PER_WORKER", value: "1" },
      { name: "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS", value: "1" },
    ],
  });
  const { status, status_message } = deployed.revision;
  expect([status, status_message]).toEqual(["DEPLOYED", expect.anything()]);
  deployment = deployed.deployment;
}, 900_000);
afterAll(() => site?.stop());

const path = (rest: string) => `/d/${deployment.slug}${rest}`;

async function begin(ms: number): Promise<{ thread_id: string; run_id: string }> {
  const { body: thread } = await site.plane().call<{ thread_id: string }>("POST", path("/threads"), {});
  const made = await site
    .plane()
    .call<{ run_id: string }>("POST", path(`/threads/${thread.thread_id}/runs`), {
      ...{ assistant_id: "echo", input: { ms } },
    });
  expect(made.status).toBe(200);
  return { ...thread, run_id: made.body.run_id };
}

type Run = { thread_id: string; run_id: string };
const statusOf = async ({ thread_id, run_id }: Run) =>
  (await site.plane().call<{ status: string }>("GET", path(`/threads/${thread_id}/runs/${run_id}`))).body
    .status;

async function readyPods(): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployment_endpoints e join deployment_instances i on i.id = e.instance_id
    where i.deployment_id = ${deployment.id} and e.ready`.execute(site.database.database.sql);
  return rows[0]!.count;
}

const untilServedBy = (count: number) =>
  waitUntil(async () => (await readyPods()) === count, {
    ...{ what: `${count} pods to serve`, timeoutMs: 300_000 },
  });

describe("a server on Kubernetes", { timeout: 900_000 }, () => {
  it("gets replicas while runs wait, loses them afterwards, and loses no run", async () => {
    expect(await readyPods()).toBe(1);
    const begun = performance.now();
    const runs: Run[] = [];
    for (let count = 0; count < 40; count += 1) runs.push(await begin(3_000));
    await untilServedBy(3);
    const grownMs = performance.now() - begun;
    await waitUntil(
      async () => (await Promise.all(runs.map(statusOf))).every((status) => status === "success"),
      {
        ...{ what: "every run to succeed", timeoutMs: 300_000 },
      },
    );
    const idleAt = performance.now();
    await untilServedBy(1);
    const shrunkMs = performance.now() - idleAt;
    const { rows } = await raw<{ message: string }>`
      select message from deployment_logs where deployment_id = ${deployment.id} and message like 'Scaled %'
      order by id`.execute(site.database.database.sql);
    const lines = rows.map(({ message }) => message);
    expect(lines[0]).toMatch(/^Scaled from 1 to [23] replicas\. \d+ runs wait\.$/);
    expect(lines.at(-1)).toMatch(/^Scaled from [23] to 1 replica\.$/);
    // The pods say themselves what they use.
    type Metrics = { points: { memory_bytes: number | null; cpu: number | null }[] };
    const { body } = await site.plane().call<Metrics>("GET", `/v2/deployments/${deployment.id}/metrics`);
    expect(body.points.some(({ memory_bytes, cpu }) => (memory_bytes ?? 0) > 1e6 && cpu !== null)).toBe(true);
    if (process.env.TREADLE_TEST_FIGURES) console.log({ grownMs, shrunkMs, lines });
  });
});
