import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openMigrated } from "../../../../../tests/support/both-engines.ts";
import {
  type ClickHouse as Server,
  startClickHouse,
} from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import { startTcpProxy, type TcpProxy } from "../../../../../tests/support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { expectedOf, makeTree, randomOf, shuffled } from "../../../../../tests/support/spending-trees.ts";
import { insertProject } from "../../../../../tests/support/trace-rows.ts";
import { createTracesApp, sampleChild, samplePost } from "../../../../../tests/support/traces-app.ts";
import { type Sent, WrittenRuns } from "../../../../../tests/support/written-runs.ts";
import { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { openDatabase } from "../../../../platform/db/connection/open-database.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { createLogger } from "../../../../platform/logger.ts";
import { CertainInsert } from "./certain-insert.ts";

let server: Server;
/** Straight to the server, for the test's own questions. */
let clickHouse: ClickHouse;
let url: string;
let proxy: TcpProxy;
let testDatabase: TestDatabase;
let engine: WrittenRuns;
let workspaceId: string;
const projectId = randomUUID();
const opened: { close(): Promise<void> }[] = [];

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
}, clickHouseStartLimitMs);
afterAll(() => server?.stop());

beforeEach(async () => {
  url = await server.createDatabase();
  clickHouse = await openMigrated(server, url);
  testDatabase = await createTestDatabase();
  workspaceId = randomUUID();
  await insertProject(testDatabase.database.sql, { id: projectId, workspace_id: workspaceId, name: "p" });
  proxy = await startTcpProxy({ target: url });
  engine = WrittenRuns.inClickHouse(await another(proxy.urlFor(url)), testDatabase.database, workspaceId);
}, 120_000);
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  await proxy?.stop();
  await clickHouse?.close();
  await testDatabase?.drop();
});

async function another(to = url): Promise<ClickHouse> {
  const client = await ClickHouse.open({ url: to });
  opened.push(client);
  return client;
}

/** As another process has it. */
function anotherPool(): Database {
  const pool = openDatabase({
    url: testDatabase.url,
    poolSize: 4,
    logger: createLogger({ level: "silent" }),
  });
  opened.push(pool);
  return pool;
}

const post = (run: Sent["run"]): Sent => ({ kind: "post", run, projectId });
const patch = (run: Sent["run"]): Sent => ({ kind: "patch", run });
const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_cost: 0.1 } };

async function awaited(): Promise<number> {
  const { rows } = await raw<{ n: number }>`select count(*)::int as n from trace_parked_usage`.execute(
    testDatabase.database.sql,
  );
  return rows[0]!.n;
}

async function rowsOf(id: string): Promise<number> {
  const [row] = await clickHouse.rows<{ n: number }>(
    "select count() as n from trace_runs where id = {id: UUID}",
    {
      params: { id },
    },
  );
  return row!.n;
}

describe("two processes at once", { timeout: 300_000 }, () => {
  test("make one run of the same changes, and lose no share of what siblings spent", async () => {
    const engines = [
      engine,
      WrittenRuns.inClickHouse(await another(), anotherPool(), workspaceId),
      WrittenRuns.inClickHouse(await another(), anotherPool(), workspaceId),
    ];
    for (const seed of [3]) {
      const random = randomOf(seed * 15_485_863);
      const { nodes, events } = makeTree(random);
      const sending = engines.map(async (each) => {
        for (const event of shuffled(events, random)) await each.send({ ...event, projectId });
      });
      await Promise.all(sending);
      const runs = await engine.shown(nodes.map((node) => node.post.id));
      expect(runs.map(({ id }) => id)).toEqual(nodes.map((node) => node.post.id).sort());
      for (const node of nodes)
        expect(runs.find(({ id }) => id === node.post.id)).toMatchObject({
          total_tokens: expectedOf(node, nodes).tokens,
        });
    }
    const root = samplePost();
    await engine.send(post(root));
    const calling = engines.map(async (each) => {
      for (let n = 0; n < 4; n++) await each.send(post(sampleChild(root, { run_type: "llm", outputs })));
    });
    await Promise.all(calling);
    expect(await engine.shown([root.id])).toMatchObject([{ total_tokens: 3 * 4 * 7 }]);
    expect(await awaited()).toBe(0);
  });
});

describe("a process that was stopped for so long that its lock was taken away", { timeout: 300_000 }, () => {
  test("writes nothing with what it had read before", async () => {
    const run = samplePost();
    await engine.send(post(run));
    proxy.delay(3_000);
    const first = engine.writing.write(engine.queued(patch({ id: run.id, error: "first" })));
    const refused = expect(first).rejects.toMatchObject({ code: "database.unavailable" });
    const ended = async () => {
      const { rows } =
        await raw`select pg_terminate_backend(pid) from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and l.granted and d.datname = current_database()`.execute(
          testDatabase.database.sql,
        );
      return rows.length;
    };
    await expect.poll(ended, { timeout: 120_000 }).toBe(1);
    const other = WrittenRuns.inClickHouse(await another(), anotherPool(), workspaceId);
    await other.send(patch({ id: run.id, error: "second" }));
    proxy.delay(0);
    await refused;
    expect(await other.shown([run.id])).toMatchObject([{ error: "second" }]);
  });
});

describe("an answer that is lost", { timeout: 300_000 }, () => {
  test("is asked for again, and adds nothing", async () => {
    await clickHouse.run("system stop merges trace_runs");
    const run = samplePost({ run_type: "llm", outputs });
    // The answer is held back long enough to be cut off.
    proxy.delay(2_000);
    const written = engine.send(post(run));
    await expect.poll(() => rowsOf(run.id), { timeout: 120_000 }).toBe(1);
    proxy.cut();
    proxy.delay(0);
    await written;
    expect(await rowsOf(run.id)).toBe(1);
    expect(await engine.shown([run.id])).toMatchObject([{ total_tokens: 7 }]);
  });

  test("keeps other writers out until its insert has ended", async () => {
    const run = samplePost();
    await engine.send(post(run));
    // Rows are stored at once, but their insert goes on as long as the table says.
    await clickHouse.run("create table slowness (seconds Float64) engine = Memory");
    await clickHouse.insert("slowness", [{ seconds: 1 }]);
    await clickHouse.run(
      `create materialized view slow_rows engine = Memory as
        select id, sleepEachRow((select max(seconds) from slowness)) as slept
        from (select arrayJoin(range(15)) as n, id from trace_runs)
        settings function_sleep_max_microseconds_per_block = 0`,
    );
    const first = engine.send(patch({ id: run.id, error: "first" }));
    const inserting = () =>
      clickHouse.rows<{ query_id: string }>(
        "select query_id from system.processes where query_kind = 'Insert' and current_database = currentDatabase()",
      );
    await expect.poll(inserting, { timeout: 120_000 }).toHaveLength(1);
    const [slow] = await inserting();
    await clickHouse.run("truncate table slowness");
    const other = WrittenRuns.inClickHouse(await another(), anotherPool(), workspaceId);
    const second = other.send(patch({ id: run.id, error: "second" }));
    proxy.cut();
    await first;
    expect(await inserting()).not.toContainEqual(slow);
    await second;
    expect(await engine.shown([run.id])).toMatchObject([{ error: "second" }]);
  });
});

describe("a server that is away", { timeout: 300_000 }, () => {
  test("fails writes as ours, to be sent again, and takes them when it is back", async () => {
    const [before, run] = [samplePost(), samplePost()];
    await engine.send(post(before));
    await proxy.refuse();
    await expect(engine.send(post(run), patch({ id: before.id, error: "x" }))).rejects.toMatchObject({
      code: "database.unavailable",
      kind: "unavailable",
      retryable: true,
    });
    await proxy.restore();
    await engine.send(post(run));
    expect(await engine.shown([before.id, run.id])).toHaveLength(2);
  });

  test("is a reason for clients to come again, and what they send then is stored", async () => {
    const app = await createTracesApp({ clickHouse: await another(proxy.urlFor(url)) });
    opened.push({ close: () => app.stop() });
    const [before, run] = [samplePost(), samplePost()];
    const send = (body: unknown) =>
      app.app.fetch(
        new Request("http://127.0.0.1/api/v1/runs", {
          method: "POST",
          headers: { "x-api-key": app.app.apiKey, "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      );
    expect((await send(before)).status).toBe(202);
    await proxy.refuse();
    const answer = await send(run);
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    await proxy.restore();
    expect((await send(run)).status).toBe(202);
    for (const { id } of [before, run]) expect(await app.run(id)).toMatchObject({ id });
  });

  test("that lets nothing through ends the wait of an insert", async () => {
    const through = await another(proxy.urlFor(url));
    await through.rows("select 1");
    const inserts = new CertainInsert({
      clickHouse: through,
      logger: createLogger({ level: "silent" }),
      limitMs: 200,
    });
    proxy.blackHole();
    await expect(
      inserts.insert("trace_runs", { columns: ["id"], chunks: [Buffer.alloc(16)] }),
    ).rejects.toMatchObject({
      code: "database.unavailable",
      retryable: true,
    });
    await proxy.restore();
  });

  test.skipIf(process.env.TREADLE_TEST_CLICKHOUSE_URL)(
    "has after a kill all it acknowledged; what is sent again counts once",
    async () => {
      const roots = Array.from({ length: 4 }, () => samplePost());
      await engine.send(...roots.map(post));
      const acknowledged = new Map<string, string[]>(roots.map(({ id }) => [id, []]));
      const failed: Sent[] = [];
      let count = 0;
      const writers = roots.map(async (root) => {
        while (failed.length === 0) {
          const call = post(sampleChild(root, { run_type: "llm", outputs }));
          try {
            await engine.send(call);
          } catch {
            failed.push(call);
            return;
          }
          acknowledged.get(root.id)!.push(call.run.id);
          count += 1;
        }
      });
      await expect.poll(() => count, { timeout: 120_000 }).toBeGreaterThan(12);
      await server.kill();
      await Promise.all(writers);
      await server.restart();
      await engine.send(...failed);
      for (const { run } of failed) acknowledged.get(run.parent_run_id as string)!.push(run.id);
      for (const root of roots) {
        const ids = acknowledged.get(root.id)!;
        expect((await engine.shown(ids)).map(({ id }) => id)).toEqual(ids.toSorted());
        expect(await engine.shown([root.id])).toMatchObject([{ total_tokens: ids.length * 7 }]);
      }
    },
  );
});

describe("a write that was cut short", { timeout: 300_000 }, () => {
  test("between the months of a parent and its child is made whole by the next", async () => {
    const root = samplePost({ start_time: "2026-10-31T23:59:59.000000Z" });
    const call = sampleChild(root, { run_type: "llm", start_time: "2026-11-01T00:00:00.000000Z", outputs });
    await engine.send(post(root));
    await engine.send(post(call));
    // The root's month was stored, the child's was not; the root had been noted before.
    await clickHouse.run("alter table trace_runs drop partition 202611");
    await raw`insert into trace_parked_usage (run_id, workspace_id, usage)
      values (${root.id}, ${workspaceId}, '{0}')`.execute(testDatabase.database.sql);
    await engine.send(post(call));
    expect(await engine.shown([root.id])).toMatchObject([{ total_tokens: 7, total_cost: "0.1" }]);
    expect(await awaited()).toBe(0);
  });

  test("before totals were raised is made whole by the sweep", async () => {
    const [top, other] = [samplePost(), samplePost()];
    const root = sampleChild(top);
    await engine.send(post(top), post(other), post(root));
    await engine.send(post(sampleChild(root, { run_type: "llm", outputs })));
    for (const id of [top.id, root.id])
      await clickHouse.run(
        `insert into trace_runs (* except (inputs, outputs, extra, events, serialized))
          select * except (inputs, outputs, extra, events, serialized) replace ([] as below, 0 as total_tokens)
          from trace_runs final where id = {id: UUID}`,
        { params: { id } },
      );
    expect(await engine.shown([root.id])).toMatchObject([{ total_tokens: 0 }]);
    const absent = randomUUID();
    for (const id of [root.id, other.id, absent])
      await raw`insert into trace_parked_usage (run_id, workspace_id, usage)
        values (${id}, ${workspaceId}, '{0}')`.execute(testDatabase.database.sql);
    await engine.writing.settleOvertaken(100);
    for (const run of await engine.shown([top.id, root.id])) expect(run).toMatchObject({ total_tokens: 7 });
    // The one that is not stored still waits.
    expect(await awaited()).toBe(1);
    await engine.writing.settleOvertaken(100);
    for (const run of await engine.shown([top.id, root.id])) expect(run).toMatchObject({ total_tokens: 7 });
  });

  test("while PostgreSQL had not yet forgotten a patch that waited applies it again, before later ones", async () => {
    const run = samplePost();
    await engine.send(patch({ id: run.id, error: "early", outputs: { early: true } }));
    const kept = await raw<{ patch: string }>`select patch from trace_parked_patches`.execute(
      testDatabase.database.sql,
    );
    await engine.send(post(run));
    await raw`insert into trace_parked_patches (run_id, workspace_id, patch)
      values (${run.id}, ${workspaceId}, ${kept.rows[0]!.patch})`.execute(testDatabase.database.sql);
    expect(await engine.writing.listOvertaken(10)).toEqual([{ id: run.id, workspaceId }]);
    await engine.send(patch({ id: run.id, error: "late" }));
    expect(await engine.shown([run.id])).toMatchObject([{ error: "late", outputs: { early: true } }]);
    expect(await engine.writing.listOvertaken(10)).toEqual([]);
  });

  test("while a run moved to another start leaves it at one place after the next", async () => {
    const run = samplePost({ inputs: { a: 1 } });
    await engine.send(post(run));
    // Its new row was stored, the end of the old one was not.
    await clickHouse.run(
      `insert into trace_runs select * replace (start_time + interval 40 day as start_time)
        from trace_runs final where id = {id: UUID}`,
      { params: { id: run.id } },
    );
    await engine.send(patch({ id: run.id, outputs: { done: true } }));
    expect(await engine.shown([run.id])).toMatchObject([{ inputs: { a: 1 }, outputs: { done: true } }]);
  });
});
