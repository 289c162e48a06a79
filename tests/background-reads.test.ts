import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../src/platform/clock.ts";
import { raw } from "../src/platform/db/raw.ts";
import { createLogger } from "../src/platform/logger.ts";
import { Partitions } from "../src/traces/storage/postgres/partitions/partition-service.ts";
import { createTestApp, type TestApp } from "./support/app.ts";
import { waitUntil } from "./support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { fillTables } from "./support/filled-tables.ts";

/**
 * What recurs by the clock must not read what grows: `plans.test.ts` reads the plans of statements it can find, and here
 * PostgreSQL counts what all of them read, on the whole application, when it starts with much that is stored.
 */
const grown = [
  ...["threads", "runs", "thread_events", "store_items", "assistants"],
  ...["checkpoints", "checkpoint_blobs", "checkpoint_writes"],
  ...["trace_runs", "trace_run_ids", "trace_feedback", "trace_projects"],
  ...["audit_events", "jobs", "idempotency_keys", "console_sessions", "deployment_metrics"],
];
const rows = 20_000;
let test: TestDatabase;
let app: TestApp | undefined;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  const { sql } = test.database;
  await preparePartitions();
  await fillTables(sql, grown, { from: 0, to: rows });
  // Nobody's: none of them is to be taken up, nor found again as what a killed process has left.
  await raw`delete from runs where status in ('pending', 'running')`.execute(sql);
  await raw`delete from jobs where status in ('pending', 'running')`.execute(sql);
  await raw`update trace_projects set deleted_at = null`.execute(sql);
  for (const table of grown) await raw`vacuum (analyze) ${raw.ref(table)}`.execute(sql);
  await addEndedRuns();
}, 300_000);
afterAll(async () => {
  await app?.stop();
  await test?.drop();
});

/** As a platform has them by the time there is much in them. */
async function preparePartitions(): Promise<void> {
  const { database } = test;
  const partitions = new Partitions({
    database,
    clock: systemClock,
    logger: createLogger({ level: "silent" }),
  });
  await partitions.prepare();
  await partitions.ensure([new Date(Date.now() - rows * 1_000).toISOString()]);
}

/** More than PostgreSQL expects, which has not counted again: half of them have just ended, and all have old events. */
async function addEndedRuns(): Promise<void> {
  await test.database.transaction(async (tx) => {
    await raw`set local session_replication_role = replica`.execute(tx);
    await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
        kwargs_json, ended_at)
      select md5('ended' || i)::uuid, md5('thread' || i)::uuid, md5('workspace')::uuid, md5('assistant')::uuid, 'echo',
        'success', 'enqueue', '{}', now() - case when i % 2 = 0 then interval '10 minutes' else interval '1 second' end
      from generate_series(1, 8000) i`.execute(tx);
    await raw`insert into thread_events (thread_id, seq, run_id, family, name, data, created_at)
      select md5('thread' || i)::uuid, 1000000 + n, md5('ended' || i)::uuid, 'run', 'values', '{}',
        now() - interval '11 minutes'
      from generate_series(1, 8000) i, generate_series(1, 2) n`.execute(tx);
  });
}

/** Rows that scans of whole tables have read, by table; a partition counts as its table. */
async function readSoFar(): Promise<Map<string, number>> {
  const { rows: found } = await raw<{
    table: string;
    read: number;
  }>`select coalesce(p.relname, s.relname) as table, sum(s.seq_tup_read)::float8 as read
    from pg_stat_user_tables s left join pg_inherits i on i.inhrelid = s.relid left join pg_class p on p.oid = i.inhparent
    group by 1`.execute(test.database.sql);
  return new Map(found.map(({ table, read }) => [table, read]));
}

/** Kinds of jobs whose first round is still to come, or has not ended. */
async function kindsToRun(): Promise<string[]> {
  const { rows: found } = await raw<{ kind: string }>`select distinct kind from jobs
    where run_at < now() and status in ('pending', 'running')`.execute(test.database.sql);
  return found.map(({ kind }) => kind);
}

it("what recurs reads no table that grows as a whole", { timeout: 180_000 }, async () => {
  const before = await readSoFar();
  app = await createTestApp({ databaseUrl: test.url });
  await app.listen();
  for (let run = 0; run < 5; run += 1) {
    const input = { messages: [{ role: "user", content: "hello" }] };
    const answer = await app.call("POST", "/runs/wait", { body: { assistant_id: "echo", input } });
    expect(answer.status).toBe(200);
  }
  await waitUntil(async () => (await kindsToRun()).length === 0, {
    what: "every job that recurs to have run",
    timeoutMs: 120_000,
    intervalMs: 500,
  });
  // Sessions report what they have read when they end.
  await app.app.stop();
  const after = await readSoFar();
  // This test reads all jobs itself.
  const read = grown
    .filter((table) => table !== "jobs")
    .map((table) => [table, (after.get(table) ?? 0) - (before.get(table) ?? 0)] as const);
  expect(read.filter(([, count]) => count >= rows / 2)).toEqual([]);
  const { rows: left } = await raw`select from thread_events where family = 'run' and seq >= 1000000`.execute(
    test.database.sql,
  );
  expect(left).toHaveLength(8_000);
});
