import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createTestApp, type TestApp } from "../support/app.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { sampleChild, samplePost } from "../support/traces-app.ts";
import { beginTreadle, runTreadle } from "../support/treadle.ts";

let server: Server;
let testDatabase: TestDatabase;
let folder: TempFolder;
let clickHouse: ClickHouse;
let environment: Record<string, string>;
/** First on PostgreSQL, then on ClickHouse. */
let app: TestApp;
let settings: Parameters<typeof createTestApp>[0];

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  testDatabase = await createTestDatabase();
  folder = await createTempFolder("migrate");
  const url = await server.createDatabase();
  clickHouse = await ClickHouse.open({ url });
  const secretKey = randomBytes(16).toString("hex");
  environment = {
    ...{ DATABASE_URL: testDatabase.url, TREADLE_TRACES_URL: url },
    ...{ TREADLE_SECRET_KEY: secretKey, TREADLE_DATA_DIR: folder.path },
  };
  const common = {
    databaseUrl: testDatabase.url,
    secretKey,
    apiKey: randomUUID(),
    workspaceId: randomUUID(),
  };
  settings = { ...common, clickHouse: { url, cluster: undefined } };
  app = await createTestApp({ ...common, clickHouse: undefined });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await app?.stop();
  await clickHouse?.close();
  await testDatabase?.drop();
  await folder?.remove();
  await server?.stop();
});

type Sent = { id: string; trace_id?: unknown; dotted_order: string };
const send = async (post: unknown[], patch: unknown[] = []) =>
  expect((await app.call("POST", "/api/v1/runs/batch", { body: { post, patch } })).status).toBe(202);
const read = async (id: string) => {
  const { status, body } = await app.call<Record<string, unknown>>("GET", `/api/v1/runs/${id}`);
  return status === 404 ? undefined : body;
};
const usage = (tokens: number) => ({
  usage_metadata: { input_tokens: tokens, output_tokens: 1, total_tokens: tokens + 1 },
  big: "x".repeat(200),
});
/** The root, a step, and two calls of a model below it; a first call begins before its parent does. */
function trace(index: number) {
  const at = (second: number) => new Date(Date.UTC(2026, index % 5, 3, 4, 5, second, index)).toISOString();
  const start_time = at(10).replace("Z", "000Z");
  const root = samplePost({ start_time, end_time: at(40), inputs: { question: index }, tags: ["a"] });
  const step = sampleChild(root, {
    start_time: at(11).replace("Z", "000Z"),
    extra: { metadata: { thread_id: "t" } },
  });
  const model = { run_type: "llm", extra: { metadata: { ls_model_name: "gpt-4o", ls_provider: "openai" } } };
  const calls = [9, 12].map((second) =>
    sampleChild(step, { ...model, start_time: at(second).replace("Z", "000Z"), outputs: usage(second) }),
  );
  return [root, step, ...calls];
}
const inPostgres = async () => {
  const { rows } = await raw<{ n: number }>`select count(*)::int as n from trace_runs`.execute(
    testDatabase.database.sql,
  );
  return rows[0]!.n;
};
const migrators = async () => {
  const { rows } = await raw<{ n: number }>`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and application_name = 'treadle traces migrate'
  `.execute(testDatabase.database.sql);
  return rows[0]!.n;
};
const inClickHouse = async () =>
  (await clickHouse.rows<{ n: number }>("select uniqExact(id) as n from trace_runs"))[0]!.n;
const migrateTraces = () => runTreadle(["traces", "migrate", "--json"], { env: environment });

describe("moving runs to ClickHouse", { timeout: 600_000 }, () => {
  const many = Array.from({ length: 900 }, (_, index) => trace(index));
  const judged = many.slice(0, 3).map(([root]) => root!.id);
  const before = new Map<string, unknown>();
  const samples = [...judged, ...many.slice(100, 110).flatMap((runs) => runs.map((run) => run.id))];
  let open: Sent;
  let parked: Sent;
  let removed: Sent;
  let resent: Sent[];
  let late: Sent;
  /** PostgreSQL holds its time, ClickHouse does not. */
  const ancient = samplePost({ name: "ancient", start_time: "1850-01-01T00:00:00.000000Z" });

  test("is refused while a server still shows those in PostgreSQL", async () => {
    for (let at = 0; at < many.length; at += 100) await send(many.slice(at, at + 100).flat());
    open = samplePost({ name: "open", inputs: { a: 1 } });
    parked = samplePost({ name: "parked", inputs: { a: 2 } });
    removed = samplePost({ name: "removed" });
    late = sampleChild(open, { name: "late", run_type: "llm", outputs: usage(5) });
    resent = trace(1_000);
    await send([open, parked, removed, ancient, ...resent]);
    for (const run_id of judged) {
      const body = { run_id, key: "mood", score: 1, comment: "good" };
      expect((await app.call("POST", "/api/v1/feedback", { body })).status).toBe(200);
    }
    for (const id of samples) before.set(id, await read(id));
    expect(before.get(judged[0]!)).toMatchObject({ feedback_stats: { mood: { n: 1, avg: 1 } } });
    const env = { ...environment, TREADLE_PUBLIC_URL: await app.listen() };
    const refused = await runTreadle(["traces", "migrate"], { env });
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("keeps traces in PostgreSQL");
    expect(await inPostgres()).toBe(900 * 4 + 4 + 4);
  });

  test("loses no change that comes before a run does", async () => {
    await app.stop();
    app = await createTestApp(settings);
    expect(await read(judged[0]!)).toBeUndefined();
    const ended = { end_time: "2026-10-05T10:00:09.000000Z", outputs: { done: true } };
    // With its place, as the SDKs send it, and without.
    const { id, dotted_order, trace_id } = open;
    await send([], [{ id, dotted_order, trace_id, ...ended }]);
    expect((await app.call("PATCH", `/api/v1/runs/${parked.id}`, { body: ended })).status).toBe(202);
    // A child of a run that is still there, and a request whose answer was lost.
    await send([late, ...resent]);
    const session = (await app.call<{ id: string }[]>("GET", "/api/v1/sessions?name=sample")).body[0]!.id;
    const deleted = await app.call("POST", "/api/v1/runs/delete", {
      body: { session_id: session, trace_ids: [removed.id] },
    });
    expect(deleted.status).toBeLessThan(300);
  });

  test("goes on after it was killed, one at a time, and leaves nothing behind", async () => {
    const first = beginTreadle(["traces", "migrate"], { env: environment });
    const already = await inClickHouse();
    await expect.poll(inClickHouse, { timeout: 120_000 }).toBeGreaterThan(already);
    const second = await migrateTraces();
    first.signal("SIGKILL");
    await first.exited;
    // Whether the first was still at it depends on the machine.
    if (second.code !== 0) expect(second.stderr + second.stdout).toContain("traces.being_moved");
    // What the killed one had sent may still be under way.
    await expect.poll(migrators, { timeout: 60_000 }).toBe(0);
    const left = await inPostgres();
    const last = await migrateTraces();
    expect(last).toMatchObject({ code: 0 });
    expect(JSON.parse(last.stdout)).toMatchObject({
      moved: left - 1,
      kept: [{ id: ancient.id, reason: expect.stringContaining("1900") }],
      interrupted: false,
    });
    expect(await inPostgres()).toBe(1);
    const again = await migrateTraces();
    expect(JSON.parse(again.stdout)).toMatchObject({ moved: 0 });
  });

  test("shows every run as it was, once, with what came meanwhile", async () => {
    for (const [id, expected] of before) expect(await read(id)).toEqual(expected);
    const [session] = (
      await app.call<{ id: string; run_count: number }[]>("GET", "/api/v1/sessions?name=sample")
    ).body;
    const stats = await app.call<{ run_count: number; total_tokens: number }>("POST", "/api/v1/runs/stats", {
      body: { session: [session!.id] },
    });
    // Without the one that was removed, with the one that came late.
    expect(stats.body.run_count).toBe(901 * 4 + 3);
    expect(await read(removed.id)).toBeUndefined();
    await expect
      .poll(() => read(parked.id), { timeout: 180_000 })
      .toMatchObject({ name: "parked", inputs: { a: 2 }, outputs: { done: true }, status: "success" });
    await expect
      .poll(() => read(open.id), { timeout: 180_000 })
      .toMatchObject({
        ...{ name: "open", inputs: { a: 1 }, outputs: { done: true }, status: "success", total_tokens: 6 },
      });
    expect(await read(resent[0]!.id)).toMatchObject({ total_tokens: 23, status: "success" });
    const found = await app.call<{ runs: { id: string }[] }>("POST", "/api/v1/runs/query", {
      body: { session: [session!.id], filter: 'eq(feedback_key, "mood")', limit: 100 },
    });
    expect(found.body.runs.map(({ id }) => id).sort()).toEqual([...judged].sort());
  });
});
