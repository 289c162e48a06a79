import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CronService } from "../../src/agent-server/crons/cron-service.ts";
import { CronWorker } from "../../src/agent-server/crons/cron-worker.ts";
import { ReconcileFence } from "../../src/control-plane/desired-state/reconcile-fence.ts";
import { ReconcileLease } from "../../src/control-plane/reconciler/reconcile-lease.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import type { AppError } from "../../src/platform/errors.ts";
import type { Caller } from "../../src/platform/http/access/caller.ts";
import { newId } from "../../src/platform/ids.ts";
import { enqueue, getJob } from "../../src/platform/jobs/job-queue.ts";
import { claimStatement } from "../../src/platform/jobs/job-statements.ts";
import { type JobContext, JobWorker } from "../../src/platform/jobs/job-worker.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { replaceInDatabase } from "../support/replaced-database.ts";

/** Runs have theirs in lease-ended.test.ts; these are the other workers that hold leases. */
const logger = createLogger({ level: "silent" });
const leaseMs = 1_500;
const heartbeatMs = 400;
let test: TestDatabase;
let proxy: TcpProxy;
/** A connection that a test cuts; `test.database` is never cut. */
let database: Database;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 3 });
  proxy = await startTcpProxy({ target: test.url });
  database = openDatabase({ url: proxy.urlFor(test.url), poolSize: 3, logger });
});
afterEach(async () => {
  await proxy.restore();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  await database?.close();
  await proxy?.stop();
  await test?.drop();
});

const aborted = async (signal: AbortSignal): Promise<AppError> => {
  if (!signal.aborted) await once(signal, "abort");
  return signal.reason as AppError;
};

const editorOf = (workspaceId: string): Caller => ({
  organizationId: workspaceId,
  workspaceId,
  userId: newId(),
  role: "editor",
  via: "api_key",
  scopes: null,
  mayUseAccounts: true,
});

describe("a job", () => {
  it("is aborted when its lease cannot be renewed, its result is refused, and another worker does it", async () => {
    const begun = Promise.withResolvers<JobContext>();
    const ended = Promise.withResolvers<string>();
    const first = new JobWorker({
      ...{ database, clock: systemClock, logger, leaseMs, heartbeatMs },
      handlers: {
        async cut(context) {
          begun.resolve(context);
          const reason = await aborted(context.signal);
          // A handler that does not listen gets no further either.
          await context.fence(database.sql).catch((error: AppError) => ended.resolve(error.code));
          throw reason;
        },
      },
    });
    cleanups.push(() => first.stop());
    await first.start();
    const { id } = await enqueue(test.database.sql, { kind: "cut" });
    const context = await begun.promise;
    proxy.blackHole();
    expect((await aborted(context.signal)).code).toBe("job.lease_lost");
    expect(await ended.promise).toBe("job.lease_lost");
    const second = new JobWorker({
      ...{ database: test.database, clock: systemClock, logger, leaseMs, heartbeatMs },
      handlers: { cut: async () => {} },
    });
    cleanups.push(() => second.stop());
    await second.start();
    await expect
      .poll(() => getJob(test.database.sql, id), { timeout: 20_000 })
      .toMatchObject({ status: "succeeded", attempts: 2 });
  }, 60_000);

  it("is not begun when the answer to its claim comes after the end of the lease", async () => {
    const gate = Promise.withResolvers<void>();
    const claimed = Promise.withResolvers<void>();
    const slow = replaceInDatabase(test.database, {
      async query<Row extends object>(...[statement, values]: Parameters<Database["query"]>) {
        const rows = await test.database.query<Row>(statement, values);
        if (statement === claimStatement && rows.length > 0) {
          claimed.resolve();
          await gate.promise;
        }
        return rows;
      },
    });
    const inTime: boolean[] = [];
    const worker = new JobWorker({
      ...{ database: slow, clock: systemClock, logger, leaseMs, heartbeatMs },
      handlers: {
        async late({ job }) {
          const { rows } = await raw<{ ours: boolean }>`select lease_expires_at > now() as ours from jobs
            where id = ${job.id}`.execute(test.database.sql);
          inTime.push(rows[0]!.ours);
        },
      },
    });
    cleanups.push(() => worker.stop());
    await worker.start();
    const { id } = await enqueue(test.database.sql, { kind: "late" });
    await claimed.promise;
    await waitUntil(
      async () => {
        const { rows } = await raw<{ over: boolean }>`select lease_expires_at < now() as over from jobs
          where id = ${id}`.execute(test.database.sql);
        return rows[0]!.over;
      },
      { what: "the end of the lease for everybody", timeoutMs: 20_000 },
    );
    gate.resolve();
    await expect
      .poll(() => getJob(test.database.sql, id), { timeout: 20_000 })
      .toMatchObject({ status: "succeeded", attempts: 1 });
    expect(inTime).toEqual([true]);
  }, 60_000);
});

describe("the run of a cron", () => {
  it("is not started by a process whose lease ended before it could, but by another one", async () => {
    const workspaceId = newId();
    const assistantId = newId();
    await raw`insert into assistants (workspace_id, assistant_id, graph_id, name)
      values (${workspaceId}, ${assistantId}, 'agent', 'agent')`.execute(test.database.sql);
    const started: string[] = [];
    const open = (name: string, own: Database, mayAct?: () => Promise<boolean>) => {
      const service = new CronService({
        ...{ database: own, clock: systemClock, logger, firingLeaseMs: leaseMs },
        resolveAssistant: async (_, id) => id,
      });
      const worker = new CronWorker({
        ...{ database: own, clock: systemClock, logger, service, mayAct },
        startRun: async () => started.push(name),
      });
      cleanups.push(() => worker.stop({ graceMs: 0 }));
      return { service, worker };
    };
    const taken = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<boolean>();
    const first = open("first", database, () => {
      taken.resolve();
      return gate.promise;
    });
    const cron = await first.service.create(editorOf(workspaceId), null, {
      assistant_id: assistantId,
      schedule: "0 0 1 1 *",
    });
    await raw`update crons set next_run_date = now() where cron_id = ${cron.cron_id}`.execute(
      test.database.sql,
    );
    await first.worker.start();
    await taken.promise;
    proxy.blackHole();
    // By then the lease is over for everybody, and another process has it.
    const second = open("second", test.database, async () => true);
    await second.worker.start();
    await waitUntil(async () => started.length > 0, {
      what: "the other process to start the run",
      timeoutMs: 20_000,
    });
    gate.resolve(true);
    await first.worker.stop({ graceMs: 5_000 });
    expect(started).toEqual(["second"]);
    await expect
      .poll(async () => (await raw`select 1 from cron_firings`.execute(test.database.sql)).rows, {
        timeout: 10_000,
      })
      .toEqual([]);
  }, 60_000);

  it("keeps its lease for as long as it takes to start it", async () => {
    const workspaceId = newId();
    await raw`insert into assistants (workspace_id, assistant_id, graph_id, name)
      values (${workspaceId}, ${workspaceId}, 'agent', 'agent')`.execute(test.database.sql);
    const started: string[] = [];
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const open = (name: string) => {
      const service = new CronService({
        ...{ database: test.database, clock: systemClock, logger, firingLeaseMs: leaseMs },
        resolveAssistant: async (_, id) => id,
      });
      const startRun = async () => {
        started.push(name);
        begun.resolve();
        await gate.promise;
      };
      const worker = new CronWorker({
        ...{ database: test.database, clock: systemClock, logger, service, startRun },
      });
      cleanups.push(() => worker.stop({ graceMs: 1_000 }));
      return { service, worker };
    };
    const [first, second] = [open("first"), open("second")];
    const cron = await first.service.create(editorOf(workspaceId), null, {
      assistant_id: workspaceId,
      schedule: "0 0 1 1 *",
    });
    await raw`update crons set next_run_date = now() where cron_id = ${cron.cron_id}`.execute(
      test.database.sql,
    );
    await first.worker.start();
    await begun.promise;
    await second.worker.start();
    // Twice as long as the lease it was taken with.
    await waitUntil(
      async () => {
        const { rows } = await raw<{ renewed: boolean }>`select
            lease_expires_at > due_at + ${leaseMs * 2} * interval '1 millisecond' as renewed
          from cron_firings where cron_id = ${cron.cron_id}`.execute(test.database.sql);
        return rows[0]?.renewed === true;
      },
      { what: "the lease to be renewed twice", timeoutMs: 20_000 },
    );
    gate.resolve();
    expect(started).toEqual(["first"]);
  }, 60_000);
});

describe("the reconciliation of deployments", () => {
  it("ends by the clock of a process that is cut off, and goes on in another one only then", async () => {
    const log: string[] = [];
    const leases = new Map<string, () => void>();
    const open = (name: string, own: Database) => {
      const lease = new ReconcileLease({
        ...{ database: own, logger, leaseMs, renewMs: heartbeatMs, fence: new ReconcileFence(own) },
        async onTaken(requireLease) {
          log.push(`taken by ${name}`);
          leases.set(name, requireLease);
          if (name === "second") expect(leases.get("first")).toThrow("another process");
        },
        async onLost() {
          log.push(`lost by ${name}`);
        },
      });
      cleanups.push(() => lease.stop());
      return lease;
    };
    const first = open("first", database);
    await first.start();
    const second = open("second", test.database);
    await second.start();
    expect(log).toEqual(["taken by first"]);
    expect(leases.get("first")).not.toThrow();
    proxy.blackHole();
    await waitUntil(async () => log.includes("taken by second"), {
      what: "the other process to take over",
      timeoutMs: 20_000,
    });
    expect(log).toEqual(["taken by first", "lost by first", "taken by second"]);
    await proxy.restore();
    await second.stop();
    await waitUntil(async () => log.at(-1) === "taken by first", {
      what: "the lease to be taken again",
      timeoutMs: 20_000,
    });
    expect(leases.get("first")).not.toThrow();
  }, 60_000);
});
