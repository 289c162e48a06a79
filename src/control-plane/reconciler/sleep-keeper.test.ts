import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import { type SleepState, sleepStates, sleepTransitions } from "../desired-state/sleep.ts";
import { moveSleep, wakeDeployment } from "../desired-state/sleep-store.ts";
import { listBusyDeployments, readDeployment } from "./observation-store.ts";
import { SleepKeeper } from "./sleep-keeper.ts";
import type { SleepOperation } from "./sleep-plan.ts";

let test: TestDatabase;
let workspaceId: string;
let deployment: Deployment;
let instanceId: string;
let stopped: string[];

beforeAll(async () => {
  test = await createTestDatabase();
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(() => test?.drop());

beforeEach(async () => {
  const { sql } = test.database;
  stopped = [];
  const id = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId: id });
  instanceId = await insertInstance(sql, { deploymentId: id, revisionId, state: "draining" });
  await raw`update deployments set active_revision_id = ${revisionId} where id = ${id}`.execute(sql);
  deployment = await read(id);
});

const read = async (id = deployment.id) => (await readDeployment(test.database.sql, id))!;

async function put(state: SleepState): Promise<void> {
  await raw`update deployments set sleep_state = ${state} where id = ${deployment.id}`.execute(
    test.database.sql,
  );
}

async function execute(operation: SleepOperation): Promise<SleepState> {
  const keeper = new SleepKeeper({
    clock: systemClock,
    fence: { write: (work) => test.database.transaction(work) },
    supervisor: { stop: async (id) => void stopped.push(id) },
    forgetRoute: () => {},
  });
  await keeper.execute(deployment, operation);
  return (await read()).sleep_state;
}

it("makes the moves of the table and no others", async () => {
  for (const from of sleepStates)
    for (const to of sleepStates) {
      await put(from);
      const moved = await moveSleep(test.database.sql, deployment.id, { to }, new Date());
      expect([from, to, moved]).toEqual([from, to, sleepTransitions[from].includes(to)]);
    }
});

it("stops the server of one that falls asleep, but not if a gateway has promised it a request first", async () => {
  await put("falling_asleep");
  expect(await execute({ kind: "fall_asleep", instanceId })).toBe("asleep");
  expect(stopped).toEqual([instanceId]);
  stopped = [];
  await put("falling_asleep");
  expect(await wakeDeployment(test.database.sql, deployment.id, new Date())).toBe(true);
  expect(await execute({ kind: "fall_asleep", instanceId })).toBe("waking");
  expect(stopped).toEqual([]);
});

it("is woken once, however many want it", async () => {
  await put("asleep");
  const wanted = Array.from({ length: 10 }, () =>
    wakeDeployment(test.database.sql, deployment.id, new Date()),
  );
  expect((await Promise.all(wanted)).filter(Boolean)).toHaveLength(1);
});

it("a deployment that is stopped or deleted is not woken", async () => {
  await put("asleep");
  const { sql } = test.database;
  await raw`update deployments set desired_state = 'stopped' where id = ${deployment.id}`.execute(sql);
  expect(await wakeDeployment(sql, deployment.id, new Date())).toBe(false);
  await raw`update deployments set desired_state = 'running', deleted_at = now()
    where id = ${deployment.id}`.execute(sql);
  expect(await wakeDeployment(sql, deployment.id, new Date())).toBe(false);
});

it("nobody looks at one that is asleep until something is due", async () => {
  const { sql } = test.database;
  await raw`update deployment_instances set state = 'exited' where id = ${instanceId}`.execute(sql);
  const isLookedAt = async (soon = new Date(Date.now() + 120_000)) =>
    (await listBusyDeployments(sql, soon)).some(({ id }) => id === deployment.id);
  expect(await isLookedAt()).toBe(true);
  await put("asleep");
  expect(await isLookedAt()).toBe(true);
  const wakeAt = new Date(Date.now() + 600_000);
  await execute({ kind: "settle", wakeAt });
  expect(await isLookedAt()).toBe(false);
  expect(await isLookedAt(wakeAt)).toBe(true);
  expect((await read()).wake_at).toEqual(wakeAt);
  expect(await execute({ kind: "wake", because: "due" })).toBe("waking");
  expect(await isLookedAt()).toBe(true);
  expect(await execute({ kind: "woken", isReady: true })).toBe("awake");
  expect((await read()).wake_at).toBeNull();
});
