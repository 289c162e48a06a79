import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { migrateClickHouse } from "../../src/platform/clickhouse/migrate-clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { migrationsFolder } from "../../src/platform/package-facts.ts";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { BoundedRows } from "../../src/traces/storage/clickhouse/reading/bounded-rows.ts";
import { ClickHouseRunReading } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-reading.ts";
import { RunSums } from "../../src/traces/storage/clickhouse/reading/run-sums.ts";
import { PostgresRunReading } from "../../src/traces/storage/postgres/reading/postgres-run-reading.ts";
import { PostgresRunStatistics } from "../../src/traces/storage/postgres/reading/postgres-run-statistics.ts";
import {
  type Cursor,
  type RunField,
  type RunQuery,
  type RunRow,
  sortFields,
} from "../../src/traces/storage/run-query.ts";
import type { RunReading } from "../../src/traces/storage/run-storage.ts";
import { insertJudged } from "../support/clickhouse-rows.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Judged, print } from "../support/filter-evaluator.ts";
import { Maker, makeRun, makeTree } from "../support/generated-filters.ts";
import { insertFeedback, insertProject, insertRuns } from "../support/trace-rows.ts";

/** Both engines hold the same runs, and must answer the same. */
const [workspaceId, otherWorkspace] = [randomUUID(), randomUUID()];
const [project, second, removed, foreign] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
let server: Server;
let clickHouse: ClickHouse;
let testDatabase: TestDatabase;
let postgres: RunReading;
let other: RunReading;
let runs: Judged[];

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  server = await startClickHouse();
  clickHouse = await ClickHouse.open({ url: await server.createDatabase() });
  const directory = join(migrationsFolder, "clickhouse");
  const logger = createLogger({ level: "silent" });
  await migrateClickHouse({ clickHouse, directory, logger, exclusively: (work) => work() });
  const { database } = testDatabase;
  postgres = new PostgresRunReading({ database, read: createBoundedRead(database, 60_000) });
  other = new ClickHouseRunReading({ clickHouse, database, readTimeoutMs: 60_000 });

  const make = new Maker(7);
  let begun = 0;
  for (const [id, workspace_id] of [
    [project, workspaceId],
    [second, workspaceId],
    [removed, workspaceId],
    [foreign, otherWorkspace],
  ] as const)
    await insertProject(database.sql, { id, workspace_id, name: id });
  await raw`update trace_projects set deleted_at = now() where id = ${removed}`.execute(database.sql);
  runs = [project, project, second, removed, foreign].flatMap((session_id) =>
    Array.from({ length: 15 }, (_, n) => {
      const run = makeRun(make, {
        workspace_id: session_id === foreign ? otherWorkspace : workspaceId,
        session_id,
      });
      // No two begin at once: each engine has an order of ids of its own.
      begun += 1;
      const micros = String((begun * 7_919) % 1_000_000).padStart(6, "0");
      return { ...run, start_time: `2026-01-01T00:00:0${n % 7}.${micros}Z` };
    }),
  );
  await insertRuns(database.sql, runs);
  await raw`insert into trace_run_ids (id, workspace_id, start_time) select id, workspace_id, start_time from trace_runs`.execute(
    database.sql,
  );
  await raw`update trace_runs set usage = array[prompt_tokens, completion_tokens, total_tokens, null, null, total_cost]`.execute(
    database.sql,
  );
  await insertFeedback(
    database.sql,
    runs.flatMap((run) => run.feedback),
  );
  await insertJudged(clickHouse, runs);
}, clickHouseStartLimitMs);
afterAll(async () => {
  await clickHouse?.close();
  await server?.stop();
  await testDatabase?.drop();
});

const everything: RunField[] = [
  ...([
    "tenant_id",
    "session_id",
    "trace_id",
    "parent_run_id",
    "parent_run_ids",
    "reference_example_id",
  ] as const),
  ...([
    "name",
    "run_type",
    "end_time",
    "status",
    "is_root",
    "dotted_order",
    "inputs",
    "outputs",
    "error",
  ] as const),
  ...([
    "tags",
    "feedback_stats",
    "total_tokens",
    "prompt_tokens",
    "completion_tokens",
    "total_cost",
  ] as const),
  ...(["prompt_cost", "first_token_time", "thread_id", "execution_order", "inputs_preview"] as const),
  ...(["outputs_preview", "outputs_tail", "error_preview", "metadata"] as const),
];

/** The fields that were asked for. Metadata may be spelled in another way. */
function plain(row: RunRow): object {
  const { metadata } = row;
  const asked = Object.entries(row).filter(
    ([name]) => name === "id" || name === "start_time" || name in named,
  );
  return { ...Object.fromEntries(asked), ...(metadata && { metadata: JSON.parse(metadata) as unknown }) };
}
const named = Object.fromEntries(everything.map((name) => [name, true]));

describe("reading runs", () => {
  test("gives every field of a run, and only of live projects of the workspace", async () => {
    const query: RunQuery = { workspaceId };
    const page = { limit: 100, order: "desc" } as const;
    const expected = await postgres.find(query, page, new Set(everything));
    const actual = await other.find(query, page, new Set(everything));
    expect(expected.rows).toHaveLength(45);
    expect(actual.rows.map(plain)).toEqual(expected.rows.map(plain));
    expect(actual.next).toBeNull();
  });

  test.each(sortFields.flatMap((sort) => (["asc", "desc"] as const).map((order) => ({ sort, order }))))(
    "gives pages by $sort $order, each run once",
    async (by) => {
      const walk = async (reading: RunReading) => {
        const ids: string[] = [];
        let after: Cursor | undefined;
        for (let n = 0; n < 10; n += 1) {
          const found = await reading.find({ workspaceId }, { limit: 7, ...by, after }, new Set(["id"]));
          ids.push(...found.rows.map((row) => row.id));
          if (found.next === null) return ids;
          after = found.next;
        }
        throw new Error("The pages did not end.");
      };
      expect(await walk(other)).toEqual(await walk(postgres));
    },
  );

  test("finds the same for every kind of condition", async () => {
    const run = runs.find(({ parent_run_id }) => parent_run_id !== null)!;
    const make = new Maker(11);
    const filter = () => parseFilter(print(makeTree(make, 2)));
    const queries: Omit<RunQuery, "workspaceId">[] = [
      ...[
        { projectIds: [project] },
        { projectIds: [removed, foreign] },
        { ids: runs.map(({ id }) => id).slice(10, 70) },
      ],
      ...[{ traceId: run.trace_id }, { parentRunId: run.parent_run_id! }, { exampleIds: [randomUUID()] }],
      ...[{ runType: "llm" }, { isRoot: true }, { isRoot: false }, { hasError: true }, { hasError: false }],
      ...[{ executionOrder: 1 }, { executionOrder: 2 }, { since: run.start_time }, { until: run.start_time }],
      ...Array.from({ length: 20 }, () => ({ filter: filter(), isRoot: true })),
      ...Array.from({ length: 20 }, () => ({ traceFilter: filter() })),
      ...Array.from({ length: 20 }, () => ({ treeFilter: filter(), projectIds: [project, second] })),
    ];
    const ids = async (reading: RunReading, query: Omit<RunQuery, "workspaceId">) =>
      (await reading.find({ workspaceId, ...query }, { limit: 100, order: "asc" }, new Set(["id"]))).rows.map(
        (row) => row.id,
      );
    for (const query of queries)
      expect(await ids(other, query), JSON.stringify(query)).toEqual(await ids(postgres, query));
  });

  test("finds a trace, payloads, projects and beginnings of ids", async () => {
    const { id, trace_id } = runs[3]!;
    const inTrace = { workspaceId, traceId: trace_id };
    const fields = new Set<RunField>(["dotted_order", "outputs"]);
    const [expected, actual] = await Promise.all(
      [postgres, other].map((reading) => reading.findTrace(inTrace, 10, fields)),
    );
    expect(actual!.rows.map(plain)).toEqual(expected!.rows.map(plain));
    expect(actual!.next).toEqual(expected!.next);
    const ids = runs.map((run) => run.id);
    expect(await other.payloadsOf(workspaceId, ids)).toEqual(await postgres.payloadsOf(workspaceId, ids));
    for (const each of [id, runs.at(-1)!.id])
      expect(await other.projectOf(workspaceId, each)).toBe(await postgres.projectOf(workspaceId, each));
    const beginning = {
      from: `${id.slice(0, 1)}0000000-0000-0000-0000-000000000000`,
      to: `${id.slice(0, 1)}fffffff-ffff-ffff-ffff-ffffffffffff`,
    };
    const byId = async (reading: RunReading) =>
      (await reading.findByIds({ workspaceId, ids: beginning, limit: 100 })).toSorted((a, b) =>
        a.id < b.id ? -1 : 1,
      );
    expect(await byId(other)).toEqual(await byId(postgres));
    expect(await other.findByIds({ workspaceId, ids: null, limit: 5 })).toEqual([]);
    const place = { workspaceId, projectId: project };
    expect((await other.seen(place)).runs).toEqual((await postgres.seen(place)).runs);
  });

  test("ends what takes too long, and says what to do", async () => {
    const hurried = new ClickHouseRunReading({
      clickHouse,
      database: testDatabase.database,
      readTimeoutMs: 0.01,
    });
    await expect(
      hurried.find({ workspaceId }, { limit: 5, order: "asc" }, new Set(["id"])),
    ).rejects.toMatchObject({ code: "traces.query_timeout", kind: "unprocessable" });
  });
});

describe("adding runs up", () => {
  /** Fractions are added in another order. */
  const rounded = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (_, each: unknown) =>
        typeof each === "number" ? Number(each.toPrecision(10)) : each,
      ),
    );
  const engines = () => {
    const { database } = testDatabase;
    return [
      new PostgresRunStatistics({ database, read: createBoundedRead(database, 60_000) }),
      new RunSums({ database, rows: new BoundedRows(clickHouse, 60_000) }),
    ] as const;
  };

  test("gives the same numbers, in all and per stretch of time", async () => {
    const [expected, actual] = engines();
    const filter = parseFilter("and(gt(total_tokens, 0), neq(name, 'alpha'))");
    const queries: RunQuery[] = [
      ...[{ workspaceId }, { workspaceId, isRoot: true }, { workspaceId, isRoot: true, filter }],
      ...[
        { workspaceId, filter },
        { workspaceId, projectIds: [removed] },
        { workspaceId, runType: "none" },
      ],
    ];
    for (const query of queries) {
      expect(rounded(await actual.sum(query)), JSON.stringify(query)).toEqual(
        rounded(await expected.sum(query)),
      );
      for (const bucket of ["minute", "day", "week", "month"] as const)
        expect(rounded(await actual.sumByTime(query, bucket))).toEqual(
          rounded(await expected.sumByTime(query, bucket)),
        );
      expect(await actual.countThreads(query)).toBe(await expected.countThreads(query));
      for (const thread of ["t1", "none"])
        expect(rounded(await actual.sumThread(query, thread))).toEqual(
          rounded(await expected.sumThread(query, thread)),
        );
    }
  });

  test("gives the figures of a window", async () => {
    const [expected, actual] = engines();
    const whole = { from: new Date("2025-12-31"), to: new Date("2026-01-02") };
    const part = { from: new Date("2026-01-01T00:00:02Z"), to: new Date("2026-01-01T00:00:04Z") };
    const none = { from: new Date("2020-01-01"), to: new Date("2020-01-02") };
    for (const window of [whole, part, none])
      for (const id of [project, null]) {
        expect(rounded(await actual.figures(workspaceId, id, window))).toEqual(
          rounded(await expected.figures(workspaceId, id, window)),
        );
        expect(await actual.hasRuns(workspaceId, id, window)).toBe(
          await expected.hasRuns(workspaceId, id, window),
        );
      }
  });
});
