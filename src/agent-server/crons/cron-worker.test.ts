import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { createTestClock, type TestClock } from "../../../tests/support/workspaces-app.ts";
import { openDatabase } from "../../platform/db/connection/open-database.ts";
import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";
import type { Caller } from "../../platform/http/access/caller.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import type { RunRequest } from "../runs/run-request.ts";
import { type CronRequest, CronService, firingLeaseMs } from "./cron-service.ts";
import { CronWorker, type StartRun } from "./cron-worker.ts";

const logger = createLogger({ level: "silent" });
const minuteMs = 60_000;

let testDatabase: TestDatabase;
let otherDatabase: Database;
let clock: TestClock;
let workspaceId: string;
let assistantId: string;
let workers: CronWorker[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  // A pool of its own, as another process has.
  otherDatabase = openDatabase({ url: testDatabase.url, poolSize: 5, logger });
});

afterAll(async () => {
  await otherDatabase?.close();
  await testDatabase?.drop();
});

beforeEach(async () => {
  const { sql } = testDatabase.database;
  await raw`truncate crons, threads cascade`.execute(sql);
  clock = createTestClock(new Date("2030-01-01T00:00:30Z"));
  workspaceId = newId();
  assistantId = newId();
  workers = [];
  await raw`insert into assistants (workspace_id, assistant_id, graph_id, name)
    values (${workspaceId}, ${assistantId}, 'agent', 'agent')`.execute(sql);
});

afterEach(async () => {
  for (const worker of workers) await worker.stop({ graceMs: 1_000 });
});

/** Writes the run as the run service does: thread and run are committed before it answers. */
const insertRun: StartRun = async (workspace, threadId, request) => {
  const { database } = testDatabase;
  await database.transaction(async (tx) => {
    if (request.if_not_exists === "create") {
      await raw`insert into threads (thread_id, workspace_id, metadata)
        values (${threadId}, ${workspace}, ${JSON.stringify(request.threadMetadata)}::jsonb)`.execute(tx);
    }
    await raw`insert into runs
        (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs_json, temporary)
      values (${newId()}, ${threadId}, ${workspace}, ${request.assistant_id}, 'agent', 'pending',
        ${request.multitask_strategy}, ${JSON.stringify(request.metadata)}::jsonb,
        ${JSON.stringify({ input: request.input })}, ${request.temporary})`.execute(tx);
  });
};

function openProcess(startRun: StartRun = insertRun, database = testDatabase.database) {
  const service = new CronService({ database, clock, logger, resolveAssistant: async (_, id) => id });
  const worker = new CronWorker({ database, clock, logger, service, startRun });
  workers.push(worker);
  return { service, worker };
}

const editor = (): Caller => ({
  organizationId: workspaceId,
  workspaceId,
  userId: "u",
  role: "editor",
  via: "api_key",
  scopes: null,
  mayUseAccounts: true,
});

function createCron(
  service: CronService,
  request: Partial<CronRequest> = {},
  threadId: string | null = null,
  who: Partial<Caller> = {},
) {
  const whole = { assistant_id: assistantId, schedule: "*/5 * * * *", ...request };
  return service.create({ ...editor(), ...who }, threadId, whole as CronRequest);
}

type RunRow = {
  thread_id: string;
  metadata: Record<string, unknown>;
  kwargs_json: string;
  multitask_strategy: string;
  temporary: boolean;
};

async function runs(): Promise<RunRow[]> {
  const { rows } = await raw<RunRow>`select * from runs where workspace_id = ${workspaceId}
    order by created_at`.execute(testDatabase.database.sql);
  return rows;
}

async function firingCount(): Promise<number> {
  const { rows } = await raw`select 1 from cron_firings`.execute(testDatabase.database.sql);
  return rows.length;
}

describe("a due cron", () => {
  it("starts one run per due time with its payload, on a thread of the run's own", async () => {
    const { service, worker } = openProcess();
    const cron = await createCron(service, { input: { n: 1 }, metadata: { team: "blue" } });
    await worker.fireDue();
    expect(await runs()).toEqual([]);
    clock.advance(5 * minuteMs);
    await worker.fireDue();
    await worker.fireDue();
    const [run, ...more] = await runs();
    expect(more).toEqual([]);
    expect(run).toMatchObject({
      metadata: { team: "blue", cron_id: cron.cron_id },
      temporary: true,
      multitask_strategy: "enqueue",
    });
    expect(JSON.parse(run!.kwargs_json)).toEqual({ input: { n: 1 } });
    expect((await service.get(workspaceId, cron.cron_id)).next_run_date).toEqual(
      new Date("2030-01-01T00:10:00Z"),
    );
    clock.advance(5 * minuteMs);
    await worker.fireDue();
    const threads = (await runs()).map((row) => row.thread_id);
    expect(new Set(threads).size).toBe(2);
    expect(await firingCount()).toBe(0);
  });

  it("keeps the thread when asked to, and uses its own thread when it has one", async () => {
    const { service, worker } = openProcess();
    await createCron(service, { on_run_completed: "keep" });
    const threadId = newId();
    await raw`insert into threads (thread_id, workspace_id) values (${threadId}, ${workspaceId})`.execute(
      testDatabase.database.sql,
    );
    await createCron(service, { multitask_strategy: "reject" }, threadId);
    clock.advance(5 * minuteMs);
    await worker.fireDue();
    const all = await runs();
    expect(all.map((run) => run.temporary)).toEqual([false, false]);
    expect(all.filter((run) => run.thread_id === threadId)).toMatchObject([{ multitask_strategy: "reject" }]);
  });

  it("is made up for once after a time in which nobody ran, and goes on from now", async () => {
    const cron = await createCron(openProcess().service);
    clock.advance(24 * 60 * minuteMs);
    const { worker, service } = openProcess();
    await worker.fireDue();
    await worker.fireDue();
    expect(await runs()).toHaveLength(1);
    expect((await service.get(workspaceId, cron.cron_id)).next_run_date).toEqual(
      new Date("2030-01-02T00:05:00Z"),
    );
  });

  it("ends with its end time, also when that passed unseen", async () => {
    const { service, worker } = openProcess();
    const seen = await createCron(service, {
      end_time: new Date("2030-01-01T00:07:00Z"),
      metadata: { k: 1 },
    });
    const unseen = await createCron(service, {
      end_time: new Date("2030-01-01T00:05:10Z"),
      metadata: { k: 2 },
    });
    clock.advance(6 * minuteMs);
    await worker.fireDue();
    expect((await runs()).map((run) => run.metadata.k)).toEqual([1]);
    for (const { cron_id } of [seen, unseen]) {
      expect((await service.get(workspaceId, cron_id)).next_run_date).toBeNull();
    }
  });

  it("does nothing while disabled or after it was deleted", async () => {
    const { service, worker } = openProcess();
    const paused = await createCron(service);
    const deleted = await createCron(service);
    await service.patch(workspaceId, paused.cron_id, { enabled: false });
    await service.remove(workspaceId, deleted.cron_id);
    clock.advance(60 * minuteMs);
    await worker.fireDue();
    expect(await runs()).toEqual([]);
  });
});

it("starts its runs as the caller who made it", async () => {
  const started: RunRequest[] = [];
  const { service, worker } = openProcess(async (workspace, threadId, request) => {
    started.push(request);
    await insertRun(workspace, threadId, request);
  });
  const principal = { identity: "ada", permissions: ["read"], fields: { identity: "ada", team: "blue" } };
  const cron = await createCron(service, {}, null, { principal, rowFilter: { owner: "ada" } });
  expect(cron.user_id).toBe("ada");
  clock.advance(5 * minuteMs);
  await worker.fireDue();
  expect(started.map(({ caller }) => caller)).toEqual([{ ...editor(), principal }]);
});

describe("several processes", () => {
  it("fire each due time exactly once", async () => {
    const processes = [
      openProcess(insertRun, testDatabase.database),
      openProcess(insertRun, otherDatabase),
      openProcess(insertRun, otherDatabase),
    ];
    const crons = await Promise.all(Array.from({ length: 60 }, () => createCron(processes[0]!.service)));
    for (let round = 1; round <= 3; round += 1) {
      clock.advance(5 * minuteMs);
      await Promise.all(processes.map(({ worker }) => worker.fireDue()));
      await Promise.all(processes.map(({ worker }) => worker.fireDue()));
    }
    const counts = new Map<unknown, number>();
    for (const { metadata } of await runs())
      counts.set(metadata.cron_id, (counts.get(metadata.cron_id) ?? 0) + 1);
    expect(counts.size).toBe(crons.length);
    expect(new Set(counts.values())).toEqual(new Set([3]));
  });

  it("hear of a new cron and start it by themselves when its time comes", async () => {
    const started = Promise.withResolvers<string>();
    const listening = openProcess(async (_, threadId) => started.resolve(threadId), otherDatabase);
    await listening.worker.start();
    clock.advance(29_900);
    const { service } = openProcess();
    const created = createCron(service, { schedule: "* * * * *" });
    // The next minute is 100 ms of the clock away, but this clock stands still until it is moved.
    await created;
    clock.advance(minuteMs);
    await expect(started.promise).resolves.toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("a process that dies", () => {
  it("before it started the run leaves the due time to another one", async () => {
    const dying = openProcess(() => new Promise(() => {}));
    await createCron(dying.service);
    clock.advance(5 * minuteMs);
    await dying.service.takeDue(10);
    const { worker } = openProcess(insertRun, otherDatabase);
    await worker.fireDue();
    expect(await runs()).toEqual([]);
    clock.advance(firingLeaseMs);
    await worker.fireDue();
    expect(await runs()).toHaveLength(1);
    expect(await firingCount()).toBe(0);
  });

  it("after it started the run does not make another one start it again", async () => {
    const dying = openProcess();
    await createCron(dying.service);
    clock.advance(5 * minuteMs);
    const { sql } = testDatabase.database;
    await raw`create function keep_firing() returns trigger language plpgsql as 'begin return null; end'`.execute(
      sql,
    );
    await raw`create trigger keep_firing before delete on cron_firings
      for each row execute function keep_firing()`.execute(sql);
    await dying.worker.fireDue();
    await raw`drop trigger keep_firing on cron_firings`.execute(sql);
    expect(await runs()).toHaveLength(1);
    expect(await firingCount()).toBe(1);
    clock.advance(firingLeaseMs);
    await openProcess(insertRun, otherDatabase).worker.fireDue();
    expect(await runs()).toHaveLength(1);
    expect(await firingCount()).toBe(0);
  });
});

describe("a run that cannot be started", () => {
  it("is tried again when the reason may pass", async () => {
    let calls = 0;
    const { service, worker } = openProcess(async (...call) => {
      calls += 1;
      if (calls === 1) throw new AppError({ code: "auth.not_ready", kind: "unavailable", message: "Away." });
      await insertRun(...call);
    });
    await createCron(service);
    clock.advance(5 * minuteMs);
    await worker.fireDue();
    expect(await runs()).toEqual([]);
    clock.advance(10_000);
    await worker.fireDue();
    expect(await runs()).toHaveLength(1);
  });

  it("is given up when the reason stays; the next due time has its turn", async () => {
    let calls = 0;
    const { service, worker } = openProcess(async () => {
      calls += 1;
      throw new AppError({ code: "run.thread_busy", kind: "conflict", message: "Busy." });
    });
    await createCron(service);
    clock.advance(5 * minuteMs);
    await worker.fireDue();
    clock.advance(firingLeaseMs);
    await worker.fireDue();
    expect(calls).toBe(1);
    clock.advance(2 * minuteMs);
    await worker.fireDue();
    expect(calls).toBe(2);
    expect(await firingCount()).toBe(0);
  });
});
