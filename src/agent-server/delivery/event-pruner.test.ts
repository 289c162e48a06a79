import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { EventPruner, type EventPrunerOptions, pruneEvents } from "./event-pruner.ts";

let database: TestDatabase;
let options: EventPrunerOptions;
const workspaceId = newId();
const never = new AbortController().signal;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 3 });
  options = {
    database: database.database,
    clock: systemClock,
    logger: createLogger({ level: "silent" }),
    keepMs: 120_000,
    protocolEvents: 5,
  };
});
afterAll(() => database.drop());

async function makeThread(protocol = false): Promise<string> {
  const id = newId();
  await raw`insert into threads (thread_id, workspace_id, protocol)
    values (${id}, ${workspaceId}, ${protocol})`.execute(database.database.sql);
  return id;
}

/** A run with events of one family, numbered from `from`, all of the given age. */
async function makeRun(
  threadId: string,
  run: {
    status: string;
    endedSecondsAgo: number | null;
    family: string;
    from: number;
    count: number;
    ageSeconds?: number;
    /** The number of the first of them for clients; its place in the log when it is not given. */
    number?: number;
  },
): Promise<string> {
  const id = newId();
  const { sql } = database.database;
  await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
      kwargs_json, ended_at)
    values (${id}, ${threadId}, ${workspaceId}, ${newId()}, 'echo', ${run.status}, 'enqueue', '{}',
      now() - make_interval(secs => ${run.endedSecondsAgo}))`.execute(sql);
  await raw`insert into thread_events (thread_id, seq, run_id, family, name, data, created_at, number)
    select ${threadId}, ${run.from} + n, ${id}, ${run.family}, 'values', '{}',
      now() - make_interval(secs => ${run.ageSeconds ?? 600}), ${run.number ?? null}::bigint + n
    from generate_series(0, ${run.count - 1}) as n`.execute(sql);
  await raw`update threads set last_seq = greatest(last_seq, ${run.from + run.count - 1})
    where thread_id = ${threadId}`.execute(sql);
  return id;
}

async function seqsOf(threadId: string): Promise<number[]> {
  const { rows } = await raw<{ seq: number }>`select seq from thread_events
    where thread_id = ${threadId} order by seq`.execute(database.database.sql);
  return rows.map((row) => Number(row.seq));
}

test("streams of runs that ended long ago go; of fresh and active ones nothing does", async () => {
  const old = await makeThread();
  await makeRun(old, { status: "success", endedSecondsAgo: 300, family: "run", from: 1, count: 3 });
  const fresh = await makeThread();
  await makeRun(fresh, { status: "success", endedSecondsAgo: 30, family: "run", from: 1, count: 2 });
  const active = await makeThread();
  await makeRun(active, { status: "running", endedSecondsAgo: null, family: "run", from: 1, count: 2 });
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(old)).toEqual([]);
  expect(await seqsOf(fresh)).toEqual([1, 2]);
  expect(await seqsOf(active)).toEqual([1, 2]);
});

test("what a deleted thread left behind goes by age", async () => {
  const threadId = await makeThread();
  await makeRun(threadId, { status: "success", endedSecondsAgo: 300, family: "run", from: 1, count: 2 });
  await raw`delete from threads where thread_id = ${threadId}`.execute(database.database.sql);
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(threadId)).toEqual([]);
});

test("what an ordinary round does not look at any more, a whole one finds", async () => {
  const threadId = await makeThread();
  const ageSeconds = 5 * 3600;
  const run = { status: "success", endedSecondsAgo: 300, family: "run", from: 1, count: 2, ageSeconds };
  await makeRun(threadId, run);
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(threadId)).toEqual([1, 2]);
  await pruneEvents(options, { signal: never, whole: true });
  expect(await seqsOf(threadId)).toEqual([]);
});

test("goes on behind what stays, although it is more than one look and all of one moment", async () => {
  const active = await makeThread();
  await makeRun(active, { status: "running", endedSecondsAgo: null, family: "run", from: 1, count: 12_000 });
  const old = await makeThread();
  const over = { status: "success", endedSecondsAgo: 300, family: "run", from: 1, count: 3 };
  await makeRun(old, { ...over, ageSeconds: 599 });
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(active)).toHaveLength(12_000);
  expect(await seqsOf(old)).toEqual([]);
});

async function pruned(threadId: string): Promise<number[]> {
  const { rows } = await raw<{ place: number; number: number }>`select pruned_seq as place,
      pruned_protocol_seq as number from threads where thread_id = ${threadId}`.execute(
    database.database.sql,
  );
  return [Number(rows[0]!.place), Number(rows[0]!.number)];
}

test("the protocol's log keeps the newest events, and remembers what it lost", async () => {
  const threadId = await makeThread(true);
  await makeRun(threadId, {
    status: "success",
    endedSecondsAgo: 300,
    family: "protocol",
    from: 101,
    count: 12,
    number: 31,
  });
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(threadId)).toEqual([108, 109, 110, 111, 112]);
  expect(await pruned(threadId)).toEqual([107, 37]);
});

test("but never loses events of a run that is active", async () => {
  const threadId = await makeThread(true);
  await makeRun(threadId, { status: "success", endedSecondsAgo: 300, family: "protocol", from: 1, count: 3 });
  await makeRun(threadId, {
    status: "running",
    endedSecondsAgo: null,
    family: "protocol",
    from: 4,
    count: 9,
  });
  await pruneEvents(options, { signal: never, whole: false });
  expect(await seqsOf(threadId)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(await pruned(threadId)).toEqual([3, 3]);
});

test("for each minute in which runs ended one round is queued, once they can be joined no more", async () => {
  const at = Date.parse("2030-01-01T12:00:30Z");
  let now = at;
  const clock = { now: () => new Date(now) };
  const [one, other] = [new EventPruner({ ...options, clock }), new EventPruner({ ...options, clock })];
  for (const seconds of [0, 10, 29, 30, 60, 600]) {
    now = at + seconds * 1_000;
    await one.runEnded();
    await other.runEnded();
  }
  const { rows } = await raw<{ at: Date }>`select run_at as at from jobs
    where kind = 'agent.prune_events' order by run_at`.execute(database.database.sql);
  expect(rows.map((row) => row.at.toISOString())).toEqual([
    "2030-01-01T12:03:00.000Z",
    "2030-01-01T12:04:00.000Z",
    "2030-01-01T12:13:00.000Z",
  ]);
});
