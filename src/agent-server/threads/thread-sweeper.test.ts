import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { newId } from "../../platform/ids.ts";
import { createLogger } from "../../platform/logger.ts";
import { sweepThreads } from "./thread-sweeper.ts";

let database: TestDatabase;
const workspaceId = newId();
const logger = createLogger({ level: "silent" });
const never = new AbortController().signal;

beforeAll(async () => {
  database = await createTestDatabase({ poolSize: 3 });
});
afterAll(() => database.drop());

async function makeThread(expired: boolean, strategy: string | null): Promise<string> {
  const id = newId();
  const { sql } = database.database;
  await raw`insert into threads (thread_id, workspace_id, ttl_minutes, ttl_strategy, expires_at)
    values (${id}, ${workspaceId}, 1, ${strategy}, now() + make_interval(mins => ${expired ? -1 : 1}))`.execute(
    sql,
  );
  await raw`insert into thread_events (thread_id, seq, run_id, family, name, data)
    values (${id}, 1, ${newId()}, 'run', 'values', '{}')`.execute(sql);
  for (const checkpoint of ["1", "2"]) {
    await raw`insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, structure, metadata, blob_channels, blob_versions)
      values (${id}, '', ${checkpoint}, '{}', '{}', '{}', '{}')`.execute(sql);
  }
  return id;
}

async function startRun(threadId: string): Promise<void> {
  await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy, kwargs_json)
    values (${newId()}, ${threadId}, ${workspaceId}, ${newId()}, 'echo', 'running', 'enqueue', '{}')`.execute(
    database.database.sql,
  );
}

/** Whether the thread is there, and how many checkpoints and events it has. */
async function look(threadId: string) {
  const { rows } = await raw<{ there: boolean; checkpoints: number; events: number }>`select
      exists (select 1 from threads where thread_id = ${threadId}) as there,
      (select count(*)::int from checkpoints where thread_id = ${threadId}) as checkpoints,
      (select count(*)::int from thread_events where thread_id = ${threadId}) as events`.execute(
    database.database.sql,
  );
  return rows[0]!;
}

test("expired threads go, or shrink, as they asked; the others stay", async () => {
  const gone = await makeThread(true, "delete");
  const unsaid = await makeThread(true, null);
  const reduced = await makeThread(true, "keep_latest");
  const young = await makeThread(false, "delete");
  const busy = await makeThread(true, "delete");
  await startRun(busy);
  const options = { database: database.database, logger, limit: 100 };
  expect(await sweepThreads(options, never)).toEqual({ deleted: 2, reduced: 1 });
  expect(await look(gone)).toEqual({ there: false, checkpoints: 0, events: 0 });
  expect(await look(unsaid)).toEqual({ there: false, checkpoints: 0, events: 0 });
  expect(await look(reduced)).toMatchObject({ there: true, checkpoints: 1 });
  expect(await look(young)).toMatchObject({ there: true, checkpoints: 2 });
  expect(await look(busy)).toMatchObject({ there: true, checkpoints: 2 });
  expect(await sweepThreads(options, never)).toEqual({ deleted: 0, reduced: 0 });
});

test("a sweep stops at its limit", async () => {
  for (let count = 0; count < 3; count += 1) await makeThread(true, "delete");
  const options = { database: database.database, logger, limit: 2 };
  expect(await sweepThreads(options, never)).toEqual({ deleted: 2, reduced: 0 });
  expect(await sweepThreads(options, never)).toEqual({ deleted: 1, reduced: 0 });
});
