import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { Database } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { newId } from "../ids.ts";
import { describeFailure, jobStatuses } from "./job.ts";
import { cancelJob, countJobs, enqueue, getJob, listDead, requeueDead } from "./job-queue.ts";
import { pruneFinishedJobs } from "./job-schedule.ts";
import { jobChannel } from "./job-statements.ts";
import { claimDue, markDead, markForRetry, markSucceeded, reclaimExpired } from "./job-store.ts";

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = test.database;
});
afterAll(() => test.drop());

const claim = (kind: string, limit = 10) =>
  claimDue(database, { kinds: [kind], now: new Date(), limit, owner: "test", leaseMs: 60_000 });

async function claimOne(kind: string) {
  const [job] = await claim(kind, 1);
  if (job === undefined) throw new Error(`no ${kind} job is due`);
  return job;
}

const failure = describeFailure(new Error("it broke"), 1);

it("lets the table hold exactly the known statuses", async () => {
  const { rows } = await raw<{ text: string }>`select pg_get_constraintdef(oid) as text
    from pg_constraint where conname = 'jobs_status_known'`.execute(database.sql);
  const known = [...(rows[0]?.text ?? "").matchAll(/'(\w+)'/g)].map((match) => match[1]);
  expect(known.sort()).toEqual([...jobStatuses].sort());
});

describe("enqueue", () => {
  it("leaves no job and wakes nobody when the transaction rolls back", async () => {
    const heard: string[] = [];
    const unlisten = await database.listen(jobChannel, (payload) => heard.push(payload));
    await expect(
      database.transaction(async (tx) => {
        await enqueue(tx, { kind: "rolled-back" });
        throw new Error("changed my mind");
      }),
    ).rejects.toThrow("changed my mind");
    await database.transaction((tx) => enqueue(tx, { kind: "committed" }));
    // Notifications arrive in the order of commits, so the second one proves the first was never sent.
    await expect.poll(() => heard).toEqual(["due:committed"]);
    expect(await claim("rolled-back")).toEqual([]);
    expect(await claim("committed")).toHaveLength(1);
    await unlisten();
  });

  it("keeps what it was given", async () => {
    const workspaceId = newId();
    const payload = { deep: [1, "två", null, { x: true }] };
    const { id, created } = await enqueue(database.sql, {
      kind: "kept",
      payload,
      workspaceId,
      maxAttempts: 3,
    });
    expect(created).toBe(true);
    expect(await getJob(database.sql, id)).toMatchObject({
      kind: "kept",
      payload,
      workspaceId,
      status: "pending",
      attempts: 0,
      maxAttempts: 3,
    });
  });

  it("gives out jobs in the order of their due times, then of their creation", async () => {
    const ids: string[] = [];
    const runAt = new Date(Date.now() - 60_000);
    for (let n = 0; n < 3; n += 1) ids.push((await enqueue(database.sql, { kind: "ordered", runAt })).id);
    const earlier = await enqueue(database.sql, { kind: "ordered", runAt: new Date(runAt.getTime() - 1) });
    expect((await claim("ordered")).map((job) => job.id)).toEqual([earlier.id, ...ids]);
  });
});

describe("idempotency key", () => {
  it("admits one unfinished job per kind, also from many connections at once", async () => {
    const input = { kind: "keyed", idempotencyKey: "a" };
    const all = await Promise.all(Array.from({ length: 20 }, () => enqueue(database.sql, input)));
    expect(all.filter((one) => one.created)).toHaveLength(1);
    expect(new Set(all.map((one) => one.id)).size).toBe(1);
    expect((await enqueue(database.sql, { kind: "keyed", idempotencyKey: "b" })).created).toBe(true);
    expect((await enqueue(database.sql, { kind: "keyed-too", idempotencyKey: "a" })).created).toBe(true);
  });

  it("is free again when the job has finished", async () => {
    const input = { kind: "keyed-finished", idempotencyKey: "a" };
    const first = await enqueue(database.sql, input);
    const job = await claimOne(input.kind);
    expect(await enqueue(database.sql, input)).toEqual({ id: first.id, created: false });
    await markSucceeded(database, job);
    expect((await enqueue(database.sql, input)).created).toBe(true);
  });

  it("stays taken until its expiry when asked for, and not longer", async () => {
    const input = { kind: "keyed-kept", idempotencyKey: "a", keyExpiresAt: new Date(Date.now() + 3_600_000) };
    const first = await enqueue(database.sql, input);
    await markSucceeded(database, await claimOne(input.kind));
    expect(await enqueue(database.sql, input)).toEqual({ id: first.id, created: false });
    await raw`update jobs set key_expires_at = now() where id = ${first.id}`.execute(database.sql);
    expect((await enqueue(database.sql, input)).created).toBe(true);
  });

  it("must be there to have an expiry", async () => {
    const attempt = enqueue(database.sql, { kind: "keyless", keyExpiresAt: new Date() });
    await expect(attempt).rejects.toMatchObject({ code: "job.key_missing" });
  });
});

describe("lease", () => {
  it("is needed to finish, retry or bury a job", async () => {
    await enqueue(database.sql, { kind: "leased" });
    const job = await claimOne("leased");
    const stranger = { id: job.id, leaseToken: newId() };
    expect(await markSucceeded(database, stranger)).toBe(false);
    expect(await markDead(database, stranger, failure)).toBe(false);
    expect(await markForRetry(database, stranger, new Date(), failure)).toBe(false);
    expect((await getJob(database.sql, job.id)).status).toBe("running");
    expect(await markSucceeded(database, job)).toBe(true);
    expect(await markSucceeded(database, job)).toBe(false);
  });

  it("returns the job when it expires, and buries it after the last attempt", async () => {
    const { id } = await enqueue(database.sql, { kind: "expiring", maxAttempts: 2 });
    for (const [attempt, status] of [
      [1, "pending"],
      [2, "dead"],
    ] as const) {
      const stale = await claimOne("expiring");
      expect(stale.attempts).toBe(attempt);
      expect((await reclaimExpired(database)).map((job) => job.id)).not.toContain(id);
      await raw`update jobs set lease_expires_at = now() where id = ${id}`.execute(database.sql);
      expect(await reclaimExpired(database)).toContainEqual({
        id,
        kind: "expiring",
        status,
        attempts: attempt,
      });
      expect(await markSucceeded(database, stale)).toBe(false);
    }
    expect(await getJob(database.sql, id)).toMatchObject({
      status: "dead",
      lastError: { code: "job.worker_lost", attempt: 2 },
    });
  });
});

describe("dead jobs", () => {
  it("are listed by kind and workspace, newest first, and can be queued again with all attempts", async () => {
    const workspaceId = newId();
    for (const workspace of [undefined, workspaceId]) {
      await enqueue(database.sql, { kind: "doomed", ...(workspace && { workspaceId: workspace }) });
      await markDead(database, await claimOne("doomed"), failure);
    }
    const dead = await listDead(database.sql, { kind: "doomed" });
    expect(dead.map((job) => job.workspaceId)).toEqual([workspaceId, null]);
    expect(dead[0]?.lastError).toEqual(failure);
    expect(await listDead(database.sql, { workspaceId })).toHaveLength(1);

    const id = dead[0]?.id ?? "";
    expect(await requeueDead(database.sql, id)).toMatchObject({
      status: "pending",
      attempts: 0,
      finishedAt: null,
    });
    expect((await claimOne("doomed")).id).toBe(id);
    await expect(requeueDead(database.sql, id)).rejects.toMatchObject({
      code: "job.not_requeued",
      kind: "conflict",
    });
  });

  it("do not return while another job holds their key", async () => {
    const input = { kind: "doomed-keyed", idempotencyKey: "a" };
    const first = await enqueue(database.sql, input);
    await markDead(database, await claimOne(input.kind), failure);
    const second = await enqueue(database.sql, input);
    expect(second.created).toBe(true);
    await expect(requeueDead(database.sql, first.id)).rejects.toThrow('holds its key "a"');
    await cancelJob(database.sql, second.id);
    expect((await requeueDead(database.sql, first.id)).status).toBe("pending");
    expect(await enqueue(database.sql, input)).toEqual({ id: first.id, created: false });
  });
});

describe("cancelJob", () => {
  it("ends a waiting or running job and refuses a finished one", async () => {
    const waiting = await enqueue(database.sql, { kind: "cancelled" });
    expect((await cancelJob(database.sql, waiting.id)).status).toBe("cancelled");
    expect((await cancelJob(database.sql, waiting.id)).status).toBe("cancelled");
    expect(await claim("cancelled")).toEqual([]);

    const running = await enqueue(database.sql, { kind: "cancelled" });
    const job = await claimOne("cancelled");
    await cancelJob(database.sql, running.id);
    expect(await markSucceeded(database, job)).toBe(false);

    await enqueue(database.sql, { kind: "cancelled" });
    const done = await claimOne("cancelled");
    await markSucceeded(database, done);
    await expect(cancelJob(database.sql, done.id)).rejects.toMatchObject({
      code: "job.finished",
      kind: "conflict",
    });
    await expect(cancelJob(database.sql, newId())).rejects.toMatchObject({ code: "job.not_found" });
  });
});

it("prunes what ended well long ago and keeps the dead, the held keys and the recent", async () => {
  const kind = "pruned";
  const keyExpiresAt = new Date(Date.now() + 3_600_000);
  const inputs = [{}, {}, { idempotencyKey: "held", keyExpiresAt }, {}, {}];
  const ids: string[] = [];
  for (const input of inputs) ids.push((await enqueue(database.sql, { kind, ...input })).id);
  const [old, oldDead, oldHeld, recent, oldCancelled] = ids as [string, string, string, string, string];
  for (const job of await claim(kind)) {
    if (job.id === oldDead) await markDead(database, job, failure);
    else if (job.id === oldCancelled) await cancelJob(database.sql, job.id);
    else await markSucceeded(database, job);
  }
  await raw`update jobs set finished_at = now() - interval '8 days'
    where id = any(${[old, oldDead, oldHeld, oldCancelled]}::uuid[])`.execute(database.sql);
  expect(await pruneFinishedJobs(database, { now: new Date(), keepDays: 7 })).toBe(2);
  expect((await getJob(database.sql, oldDead)).status).toBe("dead");
  expect((await getJob(database.sql, oldHeld)).status).toBe("succeeded");
  expect((await getJob(database.sql, recent)).status).toBe("succeeded");
  await expect(getJob(database.sql, old)).rejects.toMatchObject({ kind: "not_found" });
  expect((await countJobs(database.sql)).filter((count) => count.kind === kind)).toEqual([
    { kind, status: "dead", count: 1 },
    { kind, status: "succeeded", count: 2 },
  ]);
});
