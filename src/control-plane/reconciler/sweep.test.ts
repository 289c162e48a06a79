import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import type { Executor } from "./executor.ts";
import { listBusyDeployments } from "./observation-store.ts";
import { Reconciler } from "./reconciler.ts";
import type { SleepFinder } from "./sleep-finder.ts";
import { noSleepFacts } from "./sleep-plan.ts";

let test: TestDatabase;
let workspaceId: string;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(() => test?.drop());

/** Deployed; its server is ready. */
async function serving() {
  const { sql } = test.database;
  const id = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId: id });
  await raw`update deployments set active_revision_id = ${revisionId}, source_config = '{"listener_id": null}'
    where id = ${id}`.execute(sql);
  const instanceId = await insertInstance(sql, { deploymentId: id, revisionId });
  return { id, revisionId, instanceId };
}

type Served = Awaited<ReturnType<typeof serving>>;

const isSettled = async (id: string) =>
  (await listBusyDeployments(test.database.sql, new Date())).find((each) => each.id === id)?.settled;

it("a deployment is settled only while nothing can be on its way", async () => {
  const { sql } = test.database;
  const changes: [what: string, change: (served: Served) => Promise<unknown>][] = [
    ["waking", ({ id }) => raw`update deployments set sleep_state = 'waking' where id = ${id}`.execute(sql)],
    [
      "its server has ended",
      ({ instanceId }) =>
        raw`update deployment_instances set state = 'exited' where id = ${instanceId}`.execute(sql),
    ],
    [
      "its server is starting",
      ({ instanceId }) =>
        raw`update deployment_instances set state = 'starting' where id = ${instanceId}`.execute(sql),
    ],
    [
      "a second server",
      ({ id, revisionId }) => insertInstance(sql, { deploymentId: id, revisionId, state: "ready" }),
    ],
    [
      "a new revision",
      ({ id }) => insertRevision(sql, { workspaceId, deploymentId: id, number: 2, status: "QUEUED" }),
    ],
    [
      "a restart is asked for",
      ({ id }) => raw`update deployments set restart_requested_at = now() where id = ${id}`.execute(sql),
    ],
    [
      "it has just recovered",
      ({ revisionId }) =>
        raw`update revisions set condition = 'restarting' where id = ${revisionId}`.execute(sql),
    ],
    [
      "stopped",
      ({ id }) => raw`update deployments set desired_state = 'stopped' where id = ${id}`.execute(sql),
    ],
    ["deleted", ({ id }) => raw`update deployments set deleted_at = now() where id = ${id}`.execute(sql)],
  ];
  for (const [what, change] of changes) {
    const served = await serving();
    expect(await isSettled(served.id), what).toBe(true);
    await change(served);
    expect(await isSettled(served.id), what).toBe(false);
  }
  const stopped = await serving();
  await raw`update deployments set desired_state = 'stopped' where id = ${stopped.id}`.execute(sql);
  await raw`update deployment_instances set state = 'exited' where id = ${stopped.instanceId}`.execute(sql);
  expect(await isSettled(stopped.id)).toBe(true);
  await raw`delete from deployments`.execute(sql);
});

/** It notes which deployments it looks at, and sweeps them all only when something may have been missed. */
function openReconciler() {
  const looks: string[] = [];
  const sleep = {
    async find({ deployment }) {
      looks.push(deployment.id);
      return noSleepFacts;
    },
    stop() {},
  } satisfies Pick<SleepFinder, "find" | "stop"> as unknown as SleepFinder;
  let onKeys = () => {};
  let failures = 0;
  const destination = new Writable({
    write(_line, _encoding, done) {
      failures += 1;
      done();
    },
  });
  const logger = createLogger({ level: "warn", destination });
  const reconciler = new Reconciler({
    ...{ database: test.database, clock: systemClock, logger, sleep },
    // Nothing comes of what it does.
    executor: { async execute() {} } as unknown as Executor,
    tracing: {
      currentKeyId: async () => null,
      async watchKeys(onChange) {
        onKeys = onChange;
        return async () => {};
      },
    },
    findBusy: async () => new Set(),
    limits: {
      ...{ healthMs: 3_600_000, drainMs: 1, bakeMs: 1, rollbackMs: 1, stopMs: 1, provenMs: 1 },
      sleepAfterMs: null,
    },
    sweepMs: 25,
    thoroughEvery: Number.MAX_SAFE_INTEGER,
  });
  const seen = (id: string) => looks.filter((each) => each === id).length;
  return { reconciler, seen, changeKeys: () => onKeys(), failures: () => failures };
}

it("a sweep looks again at what is not settled, and at the rest only when something may have been missed", async () => {
  const { sql } = test.database;
  const settled = await serving();
  const lost = await serving();
  const { reconciler, seen, changeKeys } = openReconciler();
  await reconciler.start(() => {});
  try {
    const both = () => seen(settled.id) > 0 && seen(lost.id) > 0;
    await waitUntil(both, { what: "the first sweep", timeoutMs: 60_000 });
    // Of what was written here nobody is told.
    await raw`update deployment_instances set state = 'starting', started_at = now()
      where id = ${lost.instanceId}`.execute(sql);
    const [before, others] = [seen(settled.id), seen(lost.id)];
    await waitUntil(() => seen(lost.id) >= others + 5, { what: "five sweeps", timeoutMs: 60_000 });
    expect(seen(settled.id)).toBe(before);
    changeKeys();
    await waitUntil(() => seen(settled.id) > before, { what: "a thorough sweep", timeoutMs: 60_000 });
  } finally {
    await reconciler.stop();
  }
});

it("a thorough sweep that failed is made up for", async () => {
  const { sql } = test.database;
  await raw`delete from deployments`.execute(sql);
  const settled = await serving();
  const { reconciler, seen, changeKeys, failures } = openReconciler();
  await reconciler.start(() => {});
  try {
    await waitUntil(() => seen(settled.id) > 0, { what: "the first sweep", timeoutMs: 60_000 });
    const before = seen(settled.id);
    await raw`alter table deployment_instances rename to deployment_instances_away`.execute(sql);
    changeKeys();
    // One may have been under way.
    const enough = failures() + 2;
    await waitUntil(() => failures() >= enough, { what: "failed sweeps", timeoutMs: 60_000 });
    expect(seen(settled.id)).toBe(before);
    await raw`alter table deployment_instances_away rename to deployment_instances`.execute(sql);
    await waitUntil(() => seen(settled.id) > before, { what: "the thorough sweep", timeoutMs: 60_000 });
  } finally {
    await reconciler.stop();
  }
});
