import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../tests/support/database.ts";
import { raw } from "../platform/db/raw.ts";
import { readAwaitedWork } from "./awaited-work.ts";
import { webhookJobKind } from "./webhooks/run-webhooks.ts";

let test: TestDatabase;
let reasons: string[] = [];
const options = { onUnknown: (reason: string) => reasons.push(reason) };
const workspaceId = randomUUID();
const threadId = randomUUID();

beforeAll(async () => {
  test = await createTestDatabase();
  await raw`insert into threads (thread_id, workspace_id) values (${threadId}, ${workspaceId})`.execute(
    test.database.sql,
  );
});
afterEach(() => {
  reasons = [];
});
afterAll(() => test?.drop());

const read = () => readAwaitedWork(test.url, options);

async function insertRun(status: string, seconds: number): Promise<void> {
  await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status, multitask_strategy,
      kwargs_json, available_at)
    values (${randomUUID()}, ${threadId}, ${workspaceId}, ${randomUUID()}, 'echo', ${status}, 'enqueue', '{}',
      now() + make_interval(secs => ${seconds}))`.execute(test.database.sql);
}

const clear = () => raw`delete from runs`.execute(test.database.sql);

it("nothing is to be done", async () => {
  expect(await read()).toEqual({ isBusy: false, dueAt: null });
  await insertRun("success", -10);
  await insertRun("interrupted", -10);
  expect(await read()).toEqual({ isBusy: false, dueAt: null });
  await clear();
});

it("a run that waits or goes on is work; a delayed one is due later", async () => {
  for (const status of ["pending", "running"]) {
    await insertRun(status, -1);
    expect(await read()).toMatchObject({ isBusy: true });
    await clear();
  }
  await insertRun("pending", 3_600);
  await insertRun("pending", 7_200);
  const delayed = await read();
  expect(delayed!.isBusy).toBe(false);
  expect(delayed!.dueAt!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
  expect(delayed!.dueAt!.getTime() - Date.now()).toBeLessThan(3_700_000);
  await clear();
});

it("a webhook that was not delivered yet is work", async () => {
  const { sql } = test.database;
  await raw`insert into jobs (id, kind, payload, max_attempts, run_at)
    values (${randomUUID()}, ${webhookJobKind}, '{}', 8, now() + interval '5 minutes'),
      (${randomUUID()}, 'jobs.prune', '{}', 8, now())`.execute(sql);
  expect(await read()).toMatchObject({ isBusy: true });
  await raw`update jobs set status = 'dead', finished_at = now() where kind = ${webhookJobKind}`.execute(sql);
  expect(await read()).toEqual({ isBusy: false, dueAt: null });
});

it("a database that is none of an agent server tells nothing, and neither does one that cannot be reached", async () => {
  const other = new URL(test.url);
  other.pathname = "/postgres";
  expect(await readAwaitedWork(other.href, options)).toBeNull();
  other.pathname = "/there_is_none";
  expect(await readAwaitedWork(other.href, options)).toBeNull();
  expect(reasons).toEqual([expect.stringContaining("runs"), expect.stringContaining("there_is_none")]);
});

/** Passes everything on to the database; what arrives here is known. */
async function door(to: URL): Promise<{ url: string; entered: Socket[] }> {
  const entered: Socket[] = [];
  const server = createServer((socket) => {
    entered.push(socket);
    const onward = connect(Number(to.port || 5432), to.hostname);
    for (const end of [socket, onward]) end.on("error", () => undefined);
    socket.pipe(onward).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of entered) socket.destroy();
    server.close();
  });
  const url = new URL(to);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return { url: url.href, entered };
}

it("a database whose owner has changed it to never answer is left at the deadline, with its connection", async () => {
  const { sql } = test.database;
  await raw`create function stubborn() returns boolean language plpgsql as $$ begin
    loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`.execute(
    sql,
  );
  await raw`alter table cron_firings rename to kept_firings`.execute(sql);
  await raw`create view cron_firings as select 1 where stubborn()`.execute(sql);
  const { url, entered } = await door(new URL(test.url));
  const began = performance.now();
  expect(await readAwaitedWork(url, { ...options, patienceMs: 500 })).toBeNull();
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(reasons).toEqual(["The database has not answered within 0.5 s."]);
  expect(entered).toHaveLength(1);
  if (!entered[0]!.closed) await once(entered[0]!, "close");
});
