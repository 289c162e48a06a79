import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createClickHouseRunStorage } from "../../src/traces/storage/clickhouse/clickhouse-run-storage.ts";
import { LeavingRuns } from "../../src/traces/storage/postgres/leaving/leaving-run-service.ts";
import { createPostgresRunStorage } from "../../src/traces/storage/postgres/postgres-run-storage.ts";
import { RemovalOfBoth } from "../../src/traces/storage/removal-of-both.ts";
import { createRunMove } from "../../src/traces/trace-services.ts";
import { openMigrated } from "../support/both-engines.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { holdRows } from "../support/held-rows.ts";
import { insertProject, insertRuns, sampleRun } from "../support/trace-rows.ts";
import { sampleChild, samplePost } from "../support/traces-app.ts";
import { type Sent, WrittenRuns } from "../support/written-runs.ts";

const [workspaceId, projectId, second] = [randomUUID(), randomUUID(), randomUUID()];
let server: Server;
let clickHouse: ClickHouse;
let testDatabase: TestDatabase;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  server = await startClickHouse();
  clickHouse = await openMigrated(server);
  testDatabase = await createTestDatabase();
  for (const id of [projectId, second])
    await insertProject(testDatabase.database.sql, { id, workspace_id: workspaceId, name: id });
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await testDatabase?.drop();
  await server?.stop();
});

function engines() {
  const common = {
    ...{ database: testDatabase.database, clock: systemClock, readTimeoutMs: 60_000 },
    ...{ logger: createLogger({ level: "silent" }), priceOf: () => undefined },
  };
  return {
    postgres: createPostgresRunStorage(common),
    other: createClickHouseRunStorage({ ...common, clickHouse }),
  };
}
const inPostgres = async () =>
  (await raw`select 1 from trace_runs`.execute(testDatabase.database.sql)).rows.length;
const inClickHouse = async () =>
  await clickHouse.rows<{ id: string }>("select id from trace_runs final where not is_gone");
const waiting = async () => {
  const { rows } = await raw<{ n: number }>`select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(testDatabase.database.sql);
  return rows[0]!.n;
};

describe("a run on the way from PostgreSQL to ClickHouse", () => {
  test("that is removed meanwhile does not come back", async () => {
    const run = sampleRun({ workspace_id: workspaceId, session_id: projectId });
    await insertRuns(testDatabase.database.sql, [run]);
    const { postgres, other } = engines();
    const held = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const leaving = new LeavingRuns({
      database: testDatabase.database,
      destination: {
        async write(rows) {
          held.resolve();
          await goOn.promise;
          return await other.writing.write(rows);
        },
        copyFeedback: async () => {},
      },
    });
    const moved = leaving.moveAlone({});
    await held.promise;
    const removal = new RemovalOfBoth(postgres.removal, other.removal);
    const removed = removal.removeOfTraces({ workspaceId, projectId }, [run.id], 100);
    await expect.poll(waiting).toBe(1);
    goOn.resolve();
    expect(await moved).toMatchObject({ moved: 1 });
    // Met in both places, it may be counted in both.
    expect(await removed).toBeGreaterThan(0);
    expect([await inPostgres(), await inClickHouse()]).toEqual([0, []]);
  });

  test("is there once when the move was cut off between the two", async () => {
    const run = sampleRun({ workspace_id: workspaceId, session_id: projectId, inputs: { a: 1 } });
    await insertRuns(testDatabase.database.sql, [run]);
    const { other } = engines();
    const cut = new Error("cut off");
    const leaving = (copyFeedback: () => Promise<void>) =>
      new LeavingRuns({
        database: testDatabase.database,
        destination: { write: (rows) => other.writing.write(rows), copyFeedback },
      });
    await expect(leaving(() => Promise.reject(cut)).moveAlone({})).rejects.toBe(cut);
    expect([await inPostgres(), await inClickHouse()]).toEqual([1, [{ id: run.id }]]);
    expect(await leaving(async () => {}).moveAlone({})).toMatchObject({ moved: 1, kept: [] });
    expect([await inPostgres(), await inClickHouse()]).toEqual([0, [{ id: run.id }]]);
  });
});

describe("runs of which some are in PostgreSQL and some in ClickHouse", () => {
  test("are removed up to the limit, which tells callers that there are more", async () => {
    const { postgres, other } = engines();
    const made = () => sampleRun({ workspace_id: workspaceId, session_id: projectId });
    const moving = [made(), made()];
    await insertRuns(testDatabase.database.sql, moving);
    const leaving = new LeavingRuns({
      database: testDatabase.database,
      destination: { write: (rows) => other.writing.write(rows), copyFeedback: async () => {} },
    });
    await leaving.moveAlone({});
    const staying = [made(), made(), made()];
    await insertRuns(testDatabase.database.sql, staying);
    const traceIds = [...moving, ...staying].map(({ trace_id }) => trace_id);
    const removal = new RemovalOfBoth(postgres.removal, other.removal);
    const place = { workspaceId, projectId };
    const counts: number[] = [];
    for (let count = 2; count === 2; counts.push(count))
      count = await removal.removeOfTraces(place, traceIds, 2);
    expect(counts).toEqual([2, 2, 1]);
    const left = await inClickHouse();
    expect([await inPostgres(), left.filter(({ id }) => moving.some((run) => run.id === id))]).toEqual([
      0,
      [],
    ]);
  });

  test("have been moved, though the space of a month in use is not given back", async () => {
    const { other } = engines();
    await insertRuns(testDatabase.database.sql, [
      sampleRun({ workspace_id: workspaceId, session_id: projectId }),
    ]);
    const leaving = new LeavingRuns({
      database: testDatabase.database,
      destination: { write: (rows) => other.writing.write(rows), copyFeedback: async () => {} },
    });
    const reader = await holdRows(testDatabase.database, raw`select 1 from trace_runs`);
    try {
      expect(await leaving.moveAlone({})).toMatchObject({ moved: 1, kept: [] });
    } finally {
      await reader.letGo();
    }
  });
});

describe("a run that is still in PostgreSQL", () => {
  const post = (run: Sent["run"], of = projectId): Sent => ({ kind: "post", run, projectId: of });
  const patch = (run: Sent["run"]): Sent => ({ kind: "patch", run, projectId });
  const earlier = () => WrittenRuns.inPostgres(testDatabase.database, workspaceId);
  const later = () => WrittenRuns.inClickHouse(clickHouse, testDatabase.database, workspaceId);
  const moveAll = async () => {
    const { database } = testDatabase;
    const logger = createLogger({ level: "silent" });
    const leaving = createRunMove({ database, clickHouse, logger, clock: systemClock });
    expect(await leaving.moveAlone({})).toMatchObject({ kept: [] });
  };

  test("keeps what waits for it, however long that is", async () => {
    const outputs = { usage_metadata: { input_tokens: 3, output_tokens: 4 } };
    const [root, nowhere] = [samplePost(), samplePost()];
    await earlier().send(post(root));
    const engine = later();
    for (const parent of [root, nowhere]) {
      await engine.send(post(sampleChild(parent, { run_type: "llm", outputs })));
      await engine.send(patch({ id: parent.id, outputs: { late: true } }));
    }
    await engine.writing.forgetWaiting(new Date(Date.now() + 3_600_000));
    await engine.send(post(nowhere));
    await moveAll();
    expect(await engine.shown([root.id])).toMatchObject([{ outputs: { late: true }, total_tokens: 7 }]);
    expect(await engine.shown([nowhere.id])).toMatchObject([{ outputs: null, total_tokens: 0 }]);
  });

  test("is not written to by a sender of another project", async () => {
    const run = samplePost();
    await earlier().send(post(run));
    const engine = later();
    const sent = [
      post({ ...run, name: "theirs" }, second),
      patch({ id: run.id, dotted_order: run.dotted_order, error: "theirs" }),
      patch({ id: run.id, error: "theirs" }),
    ];
    const add = (each: Sent, of: string) => engine.writer.add(engine.change(each, of));
    expect(await Promise.all(sent.map((each) => add(each, second)))).toEqual([false, false, false]);
    expect(await add(post(samplePost(), second), second)).toBe(true);
    expect(await add(patch({ id: run.id, outputs: { ours: true } }), projectId)).toBe(true);
    await moveAll();
    expect(await engine.shown([run.id])).toMatchObject([
      { session_id: projectId, name: "root", error: null, outputs: { ours: true } },
    ]);
  });

  test("has the costs of its model for tokens that came later", async () => {
    const extra = { metadata: { ls_provider: "openai", ls_model_name: "gpt-4o" } };
    const outputs = { usage_metadata: { input_tokens: 1_000, output_tokens: 1_000 } };
    const posts = [samplePost({ run_type: "llm", extra }), samplePost({ run_type: "llm", extra })];
    const ended = posts.map(({ id, dotted_order, trace_id }, at) =>
      patch({ id, dotted_order, trace_id, outputs, ...(at === 0 && { extra }) }),
    );
    await earlier().send(...posts.map((run) => post(run)));
    const engine = later();
    await engine.send(...ended);
    await moveAll();
    const known = { total_tokens: 2_000, total_cost: "0.0125" };
    expect(await engine.shown(posts.map(({ id }) => id))).toMatchObject([known, known]);
  });

  /** Sent before the post of the run, as SDKs send them: they name its place. */
  const early = {
    ...{ name: "early", error: "early", tags: ["early"], outputs: { early: true }, execution_order: 3 },
    extra: { metadata: { early: true, both: "early" } },
  };
  const late = { outputs: { late: true }, tags: ["late"], extra: { metadata: { both: "late" } } };

  test("and has no post takes nothing from what is newer", async () => {
    type Post = ReturnType<typeof samplePost>;
    const placeOf = ({ id, dotted_order, trace_id }: Post) => ({ id, dotted_order, trace_id });
    const first = (run: Post) => patch({ ...placeOf(run), ...early });
    const newer: ((run: Post) => Sent)[] = [
      (run) => patch({ ...placeOf(run), ...late }),
      (run) => patch({ ...placeOf(run), ...late, name: "late", execution_order: 4 }),
      // Without its place it waits.
      ({ id }) => patch({ id, ...late }),
      (run) => post({ ...run, inputs: { posted: true } }),
    ];
    const cases = newer.map((then) => ({ moved: samplePost(), expected: samplePost(), then }));
    const engine = later();
    await earlier().send(...cases.map(({ moved }) => first(moved)));
    await engine.send(...cases.map(({ expected }) => first(expected)));
    await engine.send(...cases.flatMap(({ moved, expected, then }) => [then(moved), then(expected)]));
    await moveAll();
    const all = await engine.shown(cases.flatMap(({ moved, expected }) => [moved.id, expected.id]));
    const shown = ({ id }: Post) =>
      JSON.parse(JSON.stringify(all.find((run) => run.id === id)).replaceAll(id, "id")) as unknown;
    for (const { moved, expected } of cases) expect(shown(moved)).toEqual(shown(expected));
  });
});
