import { afterAll, beforeAll, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { DeploymentBody } from "../support/deployments.ts";
import { type KubernetesSite, openKubernetesSite } from "../support/kubernetes/kubernetes-site.ts";

let site: KubernetesSite;
let deployment: DeploymentBody;

beforeAll(async () => {
  site = await openKubernetesSite();
  const deployed = await site.deploy("sleeper", "awake", {
    resources: { min_scale: 0, cpu: 0.1, memory_mb: 128, memory_limit_mb: 512 },
  });
  expect([deployed.revision.status, deployed.revision.status_message]).toEqual([
    "DEPLOYED",
    expect.anything(),
  ]);
  deployment = deployed.deployment;
}, 900_000);
afterAll(() => site?.stop());

type Sleeper = { sleep: { state: string }; health: { state: string } };
const path = () => `/v2/deployments/${deployment.id}`;
const read = async () => (await site.plane().call<Sleeper>("GET", path())).body;

async function untilAsleep(): Promise<void> {
  expect((await site.plane().call("POST", `${path()}/sleep`)).status).toBe(200);
  await waitUntil(
    async () => {
      const { rows } = await raw`select 1 from deployments
        where id = ${deployment.id} and sleep_settled`.execute(site.database.database.sql);
      return rows.length > 0;
    },
    { what: "the deployment to sleep", timeoutMs: 300_000 },
  );
}

/** A request waits for a minute; after that its client is asked to come again, which a busy machine may need. */
async function askVersion() {
  for (;;) {
    const answer = await site.plane().call<{ answer: string }>("GET", `/d/${deployment.slug}/version`);
    if (answer.headers.get("x-error-code") !== "gateway.waking") return answer;
  }
}

it("sleeps without a pod, stays asleep when the platform restarts, and answers the request that wakes it", async () => {
  await untilAsleep();
  await waitUntil(async () => (await site.pods(deployment.id)).length === 0, {
    ...{ what: "its last pod to go", timeoutMs: 300_000 },
  });
  await site.restart();
  expect((await read()).health.state).toBe("asleep");
  const answers = await Promise.all(Array.from({ length: 10 }, askVersion));
  expect(answers.map(({ status, body }) => [status, body.answer])).toEqual(answers.map(() => [200, "awake"]));
  expect((await read()).health.state).toBe("serving");
  expect(await site.pods(deployment.id)).toHaveLength(1);
}, 900_000);
