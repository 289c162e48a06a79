import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openMigrated } from "../../../../../tests/support/both-engines.ts";
import {
  type ClickHouse as Server,
  startClickHouse,
} from "../../../../../tests/support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../../../../../tests/support/components/clickhouse-library.ts";
import { startTcpProxy, type TcpProxy } from "../../../../../tests/support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../../../../tests/support/database.ts";
import { insertProject } from "../../../../../tests/support/trace-rows.ts";
import { sampleChild, samplePost } from "../../../../../tests/support/traces-app.ts";
import { type Sent, WrittenRuns } from "../../../../../tests/support/written-runs.ts";
import { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { openDatabase } from "../../../../platform/db/connection/open-database.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { createLogger } from "../../../../platform/logger.ts";
import { CertainInsert } from "./certain-insert.ts";
import { KnownRuns } from "./known-runs.ts";
import { RunTable } from "./run-table.ts";
import { holdWorkspaces } from "./workspace-lock-store.ts";

let server: Server;
/** Straight to the server, for the test's own questions. */
let clickHouse: ClickHouse;
let url: string;
let proxy: TcpProxy;
/** Called with what the engine sends to ClickHouse. */
let sees: (chunk: Buffer) => void;
let testDatabase: TestDatabase;
let engine: WrittenRuns;
let workspaceId: string;
const projectId = randomUUID();
const logger = createLogger({ level: "silent" });
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
  sees = () => {};
  proxy = await startTcpProxy({ target: url, inspect: () => (chunk) => sees(chunk) });
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
    logger,
  });
  opened.push(pool);
  return pool;
}

const post = (run: Sent["run"]): Sent => ({ kind: "post", run, projectId });

async function rowsOf(id: string): Promise<number> {
  const [row] = await clickHouse.rows<{ n: number }>(
    "select count() as n from trace_runs where id = {id: UUID}",
    {
      params: { id },
    },
  );
  return row!.n;
}

describe("runs of one id in two workspaces", { timeout: 300_000 }, () => {
  test("that move in one write each keep their payloads", async () => {
    const [otherWorkspace, otherProject] = [randomUUID(), randomUUID()];
    const { sql } = testDatabase.database;
    await insertProject(sql, { id: otherProject, workspace_id: otherWorkspace, name: "p" });
    const other = WrittenRuns.inClickHouse(await another(), testDatabase.database, otherWorkspace);
    const { dotted_order: _, ...run } = samplePost();
    const sent = (whose: string, to: string) => ({
      first: { kind: "post" as const, run: { ...run, inputs: { whose } }, projectId: to },
      again: (start_time: string) => {
        const { inputs: __, ...bare } = run;
        return { kind: "post" as const, run: { ...bare, start_time }, projectId: to };
      },
    });
    const [mine, theirs] = [sent("mine", projectId), sent("theirs", otherProject)];
    await engine.send(mine.first);
    await other.send(theirs.first);
    await engine.writing.write([
      ...engine.queued(mine.again("2026-03-01T00:00:00.000000Z")),
      ...other.queued(theirs.again("2026-04-01T00:00:00.000000Z")),
    ]);
    expect(await engine.shown([run.id])).toMatchObject([
      { start_time: "2026-03-01T00:00:00.000000Z", inputs: { whose: "mine" } },
    ]);
    expect(await other.shown([run.id])).toMatchObject([
      { start_time: "2026-04-01T00:00:00.000000Z", inputs: { whose: "theirs" } },
    ]);
  });
});

describe("a workspace that somebody else works on", { timeout: 300_000 }, () => {
  test("keeps no other workspace waiting, and its runs are stored after", async () => {
    const [otherWorkspace, otherProject] = [randomUUID(), randomUUID()];
    const { sql } = testDatabase.database;
    await insertProject(sql, { id: otherProject, workspace_id: otherWorkspace, name: "p" });
    const other = WrittenRuns.inClickHouse(await another(), testDatabase.database, otherWorkspace);
    const [mine, theirs] = [samplePost(), samplePost()];
    let added: Promise<boolean>[] = [];
    await anotherPool().transaction(async (tx) => {
      await holdWorkspaces(tx, [otherWorkspace]);
      // One process writes for both.
      added = [
        engine.writer.add(other.change({ kind: "post", run: theirs, projectId: otherProject })),
        engine.writer.add(engine.change(post(mine))),
      ];
      await added[1];
      expect(await engine.shown([mine.id])).toHaveLength(1);
      expect(await other.shown([theirs.id])).toEqual([]);
    });
    expect(await Promise.all(added)).toEqual([true, true]);
    expect(await other.shown([theirs.id])).toHaveLength(1);
  });
});

describe("requests that put traces together", { timeout: 300_000 }, () => {
  test("wait with one connection of the database, however many they are", async () => {
    const pool = anotherPool();
    const own = WrittenRuns.inClickHouse(await another(proxy.urlFor(url)), pool, workspaceId);
    const root = samplePost();
    await own.send(post(root));
    proxy.delay(300);
    const linked = Promise.all(
      Array.from({ length: 20 }, () =>
        own.writing.relink(workspaceId, [{ traceId: root.id, spanRunId: randomUUID() }]),
      ),
    );
    let most = 0;
    const isOver = linked.then(() => true);
    const aWhile = () => raw`select pg_sleep(0.02)`.execute(testDatabase.database.sql).then(() => false);
    while (!(await Promise.race([isOver, aWhile()]))) {
      const { total, idle } = pool.poolStats();
      most = Math.max(most, total - idle);
    }
    expect(most).toBe(1);
  });

  test("may name more traces than one statement takes", async () => {
    const extra = { metadata: { OTEL_SPAN_ID: "00000000000000aa" } };
    const root = samplePost({ extra });
    await engine.send(post(root));
    const traceIds = [...Array.from({ length: 5_000 }, () => randomUUID()), root.id];
    expect(await engine.writing.findRootSpans(workspaceId, traceIds)).toEqual(
      new Map([[root.id, "00000000000000aa"]]),
    );
    const roots = traceIds.map((traceId) => ({ traceId, spanRunId: randomUUID() }));
    await engine.writing.relink(workspaceId, roots);
  });
});

describe("putting a trace together", { timeout: 300_000 }, () => {
  test("reads no more of it than the runs that do not hang below its root", async () => {
    const root = samplePost();
    const [step, other] = [sampleChild(root), sampleChild(root)];
    const below = sampleChild(step);
    await engine.send(...[root, step, other, below].map(post));
    const table = new RunTable(clickHouse, new CertainInsert({ clickHouse, logger }));
    expect(await table.findAstray(workspaceId, [root.id])).toEqual([]);
    // They came before, and knew the one above them alone; the root by its span.
    const spanRunId = randomUUID();
    const [first, second] = [samplePost(), samplePost()];
    const astray = (run: Sent["run"], above: string) =>
      clickHouse.run(
        `insert into trace_runs (* except (inputs, outputs, extra, events, serialized))
          select * except (inputs, outputs, extra, events, serialized)
            replace ({root: UUID} as trace_id, [{above: UUID}] as parent_run_ids, false as is_root)
          from trace_runs final where id = {id: UUID}`,
        { params: { id: run.id, root: root.id, above } },
      );
    await engine.send(post(first), post(second));
    await astray(first, spanRunId);
    await astray(second, below.id);
    const found = await table.findAstray(workspaceId, [root.id]);
    expect(found.map(({ id }) => id).sort()).toEqual([root.id, below.id, first.id, second.id].sort());
    await engine.writing.relink(workspaceId, [{ traceId: root.id, spanRunId }]);
    expect(await table.findAstray(workspaceId, [root.id])).toEqual([]);
    const shown = await engine.shown([first.id, second.id]);
    expect(Object.fromEntries(shown.map((run) => [run.id, run.parent_run_ids]))).toEqual({
      [first.id]: [root.id],
      [second.id]: [root.id, step.id, below.id],
    });
  });
});

describe("readers that take their time", { timeout: 300_000 }, () => {
  test("do not keep writers waiting", async () => {
    const client = await another();
    const stop = new AbortController();
    const readers = Array.from({ length: 12 }, () =>
      client
        .rows("select sleepEachRow(1) from numbers(600)", {
          signal: stop.signal,
          settings: { function_sleep_max_microseconds_per_block: 0, max_block_size: 1 },
        })
        .catch(() => undefined),
    );
    const reading = () =>
      clickHouse.rows(
        "select 1 from system.processes where query like 'select sleepEachRow%' and current_database = currentDatabase()",
      );
    await expect.poll(reading, { timeout: 120_000 }).toHaveLength(12);
    const own = WrittenRuns.inClickHouse(client, testDatabase.database, workspaceId);
    const run = samplePost();
    await own.send(post(run));
    expect(await reading()).toHaveLength(12);
    expect(await own.shown([run.id])).toHaveLength(1);
    stop.abort();
    await Promise.all(readers);
  });
});

describe("a server that answers nothing", { timeout: 300_000 }, () => {
  test("is not waited for beyond the limit of a write, which then begins nothing more", async () => {
    const through = await another(proxy.urlFor(url));
    const table = new RunTable(through, new CertainInsert({ clickHouse: through, logger }));
    const keys = [{ id: randomUUID(), workspaceId }];
    expect(await table.within(60_000).find(keys, { withExtra: true })).toEqual([]);
    proxy.blackHole();
    const limited = table.within(100);
    const late = { code: "database.unavailable", retryable: true };
    await expect(limited.find(keys, { withExtra: true })).rejects.toMatchObject(late);
    await proxy.restore();
    await expect(limited.find(keys, { withExtra: true })).rejects.toMatchObject(late);
    await expect(limited.insert([])).rejects.toMatchObject(late);
  });
});

describe("the extra of a run", { timeout: 300_000 }, () => {
  test("is read where it is merged, and not of the runs above", async () => {
    const [root, run] = [samplePost({ extra: { a: 1 } }), samplePost({ extra: { a: 1 } })];
    await engine.send(post(root), post(run));
    const table = new RunTable(clickHouse, new CertainInsert({ clickHouse, logger }));
    const known = new KnownRuns(table);
    const [above, own] = [root, run].map(({ id }) => ({ id, workspaceId }));
    await Promise.all([known.load([own!], { withExtra: true }), known.load([own!, above!])]);
    expect([above!, own!].map((key) => [known.get(key)?.id, known.extraOf(key)])).toEqual([
      [root.id, null],
      [run.id, '{"a":1}'],
    ]);
    await engine.send(post(sampleChild(root)), { kind: "patch", run: { id: run.id, extra: { b: 2 } } });
    expect(await engine.shown([run.id])).toMatchObject([{ extra: { a: 1, b: 2 } }]);
    expect(await engine.shown([root.id])).toMatchObject([{ extra: { a: 1 } }]);
  });
});

describe("the error of a run", { timeout: 300_000 }, () => {
  test("is written where it is sent, and neither read nor written for what runs below it spend", async () => {
    const error = `Broken ${randomBytes(200_000).toString("hex")}`;
    const { dotted_order: _, ...root } = samplePost({ error, end_time: "2026-01-02T03:05:00.000000Z" });
    await clickHouse.run("system stop merges trace_runs");
    await engine.send(post(root));
    const call = () => sampleChild(samplePost(root), { run_type: "llm", outputs });
    const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 4 } };
    for (let calls = 0; calls < 2; calls++) await engine.send(post(call()));
    expect(await textsOf(root.id)).toEqual([error.length, 0, 0]);
    const seen = { error, status: "error" };
    expect(await engine.shown([root.id])).toMatchObject([{ ...seen, total_tokens: 14 }]);
    // As a server of before has written it.
    await clickHouse.run(
      `insert into trace_runs (* except (error_text)) select * except (error_text) replace ([error] as failure)
        from trace_runs final where id = {id: UUID}`,
      { params: { id: root.id } },
    );
    const table = new RunTable(clickHouse, new CertainInsert({ clickHouse, logger }));
    const found = await table.find([{ id: root.id, workspaceId }], { withExtra: false });
    expect(found.map(({ failure }) => failure)).toEqual([[""]]);
    await engine.send(post(call()));
    expect(await engine.shown([root.id])).toMatchObject([{ ...seen, total_tokens: 21 }]);
    expect((await textsOf(root.id)).at(-1)).toBe(0);
    // It goes with the run.
    const start_time = "2026-03-01T00:00:00.000000Z";
    await engine.send(post({ id: root.id, start_time }));
    expect(await engine.shown([root.id])).toMatchObject([{ ...seen, start_time }]);
  });

  test("may be taken back, and is then not kept", async () => {
    const [run, other] = [samplePost({ error: "Broken" }), samplePost({ error: "Broken" })];
    const patch = (error: string | null): Sent => ({ kind: "patch", run: { id: run.id, error } });
    await engine.send(post(run), post(other));
    for (const error of [null, "", "Again", null, null]) {
      await engine.send(patch(error));
      expect(await engine.shown([run.id])).toMatchObject([{ error }]);
    }
    await clickHouse.run("optimize table trace_runs final");
    const kept = await clickHouse.rows("select error_text, failure from trace_runs order by error_text");
    expect(kept).toEqual([
      { error_text: "", failure: [] },
      { error_text: "Broken", failure: [""] },
    ]);
  });

  /** How long what was written of the error was, each time. */
  async function textsOf(id: string): Promise<number[]> {
    const rows = await clickHouse.rows<{ chars: number }>(
      `select length(arrayStringConcat(failure)) + length(ifNull(error_text, '')) as chars
        from trace_runs where id = {id: UUID} order by _block_number`,
      { params: { id } },
    );
    return rows.map(({ chars }) => chars);
  }
});

describe("a lock that is lost between the steps of one write", { timeout: 300_000 }, () => {
  test("ends it before the next step", async () => {
    const { dotted_order: _, ...run } = samplePost({ inputs: { a: 1 } });
    await engine.send(post(run));
    // Its payloads are to be at the new place, and the answer to that on its way.
    sees = (chunk) => {
      if (chunk.includes("insert")) proxy.holdAnswers();
    };
    const moving = engine.writing.write(
      engine.queued(post({ ...run, start_time: "2026-03-01T00:00:00.000000Z", name: "moved" })),
    );
    const refused = expect(moving).rejects.toMatchObject({ code: "database.unavailable" });
    await expect.poll(() => rowsOf(run.id), { timeout: 120_000 }).toBe(2);
    await raw`select pg_terminate_backend(pid) from pg_locks l join pg_database d on d.oid = l.database
      where l.locktype = 'advisory' and l.granted and d.datname = current_database()`.execute(
      testDatabase.database.sql,
    );
    await proxy.restore();
    await refused;
    expect(await engine.shown([run.id])).toMatchObject([{ name: run.name, start_time: run.start_time }]);
  });
});

describe("totals that are too large to be stored", { timeout: 300_000 }, () => {
  test("are given up by the sweep, and keep no others waiting", async () => {
    const [large, small] = [samplePost(), samplePost()];
    const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 4 } };
    await engine.send(post(large), post(small));
    const calls = [large, small].map((root) => sampleChild(root, { run_type: "llm", outputs }));
    await engine.send(...calls.map(post));
    // As if their totals had not been added up yet, and one had spent more than can be counted.
    for (const root of [large, small])
      await change(root.id, "[] as below, 0 as prompt_tokens, 0 as completion_tokens, 0 as total_tokens");
    await change(calls[0]!.id, "['9007199254740993', '0', '9007199254740993', null, null, null] as usage");
    for (const { id } of [large, small])
      await raw`insert into trace_parked_usage (run_id, workspace_id, usage)
        values (${id}, ${workspaceId}, '{0}')`.execute(testDatabase.database.sql);
    await engine.writing.settleOvertaken(100);
    expect(await engine.shown([small.id])).toMatchObject([{ total_tokens: 7 }]);
    expect(await engine.shown([large.id])).toMatchObject([{ total_tokens: 0 }]);
    const { rows } = await raw`select 1 from trace_parked_usage`.execute(testDatabase.database.sql);
    expect(rows).toEqual([]);
  });

  async function change(id: string, columns: string): Promise<void> {
    const payloads = "inputs, outputs, extra, events, serialized";
    await clickHouse.run(
      `insert into trace_runs (* except (${payloads})) select * except (${payloads}) replace (${columns})
        from trace_runs final where id = {id: UUID}`,
      { params: { id } },
    );
  }
});
