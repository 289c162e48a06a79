import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseFilter } from "../../src/traces/filter/parse-filter.ts";
import { readCursor, sortKindOf, writeCursor } from "../../src/traces/query/run-cursor.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { BoundedRows } from "../../src/traces/storage/clickhouse/reading/bounded-rows.ts";
import { ClickHouseRunReading } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-reading.ts";
import { PostgresRunReading } from "../../src/traces/storage/postgres/reading/postgres-run-reading.ts";
import {
  type Cursor,
  maxPageBytes,
  type RunField,
  type RunQuery,
  type RunRow,
  sortFields,
} from "../../src/traces/storage/run-query.ts";
import type { RunReading } from "../../src/traces/storage/run-storage.ts";
import {
  type BothEngines,
  documents,
  foreign,
  liveRuns,
  project,
  removed,
  second,
  startBothEngines,
  workspaceId,
} from "../support/both-engines.ts";
import { insertJudged } from "../support/clickhouse-rows.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { print } from "../support/filter-evaluator.ts";
import { Maker, makeTree } from "../support/generated-filters.ts";
import { insertRuns, type SampleRun, sampleRun } from "../support/trace-rows.ts";

/** Both engines hold the same runs, and must answer the same. */
let engines: BothEngines;
let postgres: RunReading;
let other: RunReading;

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  engines = await startBothEngines();
  const { clickHouse, testDatabase } = engines;
  const { database } = testDatabase;
  postgres = new PostgresRunReading({ database, read: createBoundedRead(database, 60_000) });
  other = new ClickHouseRunReading({ clickHouse, database, readTimeoutMs: 60_000 });
}, clickHouseStartLimitMs);
afterAll(() => engines?.stop());

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
function plain(row: RunRow): { id: string } {
  const { metadata } = row;
  const asked = Object.entries(row).filter(
    ([name]) => name === "id" || name === "start_time" || name in named,
  );
  return {
    ...Object.fromEntries(asked),
    ...(metadata && { metadata: JSON.parse(metadata) as unknown }),
    id: row.id,
  };
}
const named = Object.fromEntries(everything.map((name) => [name, true]));

/** Each engine has an order of ids of its own. */
function byId<Row extends { id: string }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function idsOf(reading: RunReading, query: Omit<RunQuery, "workspaceId">): Promise<string[]> {
  const page = { limit: 100, order: "asc" } as const;
  const { rows } = await reading.find({ workspaceId, ...query }, page, new Set(["id"]));
  return rows.map((row) => row.id).sort();
}

describe("reading runs", { timeout: 300_000 }, () => {
  test("gives every field of a run, and only of live projects of the workspace", async () => {
    const query: RunQuery = { workspaceId };
    const page = { limit: 100, order: "desc" } as const;
    const expected = await postgres.find(query, page, new Set(everything));
    const actual = await other.find(query, page, new Set(everything));
    expect(expected.rows).toHaveLength(liveRuns);
    expect(byId(actual.rows.map(plain))).toEqual(byId(expected.rows.map(plain)));
    expect(actual.rows.map((row) => row.start_time)).toEqual(expected.rows.map((row) => row.start_time));
    expect(actual.next).toBeNull();
  });

  test.each(sortFields.flatMap((sort) => (["asc", "desc"] as const).map((order) => ({ sort, order }))))(
    "gives pages by $sort $order, each run once",
    async (by) => {
      const field = by.sort === "latency" ? "end_time" : by.sort;
      const walk = async (reading: RunReading) => {
        const rows: RunRow[] = [];
        let after: Cursor | undefined;
        for (let n = 0; n < 10; n += 1) {
          const page = { limit: 7, ...by, after };
          const found = await reading.find({ workspaceId }, page, new Set<RunField>([field]));
          rows.push(...found.rows);
          if (found.next === null) return rows;
          // As a client sends it back.
          after = readCursor(writeCursor(found.next), [], sortKindOf(page));
        }
        throw new Error("The pages did not end.");
      };
      const [actual, expected] = [await walk(other), await walk(postgres)];
      expect(new Set(actual.map((row) => row.id)).size).toBe(liveRuns);
      expect(actual.map((row) => row.id).sort()).toEqual(expected.map((row) => row.id).sort());
      // Runs that are equal in both have an order of their own in each engine.
      const places = (rows: RunRow[]) => rows.map((row) => [row[field], row.start_time]);
      expect(places(actual)).toEqual(places(expected));
    },
  );

  test("finds the same for every kind of condition", async () => {
    const { runs, tree, ghost } = engines;
    const run = runs.find(({ parent_run_id }) => parent_run_id !== null)!;
    const example = runs.find(({ reference_example_id }) => reference_example_id !== null)!;
    const named = (name: string) => parseFilter(`eq(name, "${name}")`);
    const said = (key: string) => parseFilter(`eq(feedback_key, "${key}")`);
    const make = new Maker(11);
    const filter = () => parseFilter(print(makeTree(make, 2)));
    const queries: Omit<RunQuery, "workspaceId">[] = [
      ...[
        { projectIds: [project] },
        { projectIds: [removed, foreign] },
        { ids: runs.map(({ id }) => id).slice(10, 70) },
      ],
      ...[{ traceId: run.trace_id }, { parentRunId: run.parent_run_id! }, { exampleIds: [randomUUID()] }],
      ...[{ exampleIds: [example.reference_example_id!] }, { ids: [ghost.id] }, { traceId: ghost.trace_id }],
      ...[{ traceId: tree.root.id }, { parentRunId: tree.root.id }, { parentRunId: tree.child.id }],
      ...["root", "leaf", "earlier"].flatMap((name) => [
        { filter: named(name) },
        { traceFilter: named(name) },
        { traceFilter: named(name), isRoot: true },
        { treeFilter: named(name) },
        { treeFilter: named(name), isRoot: false },
      ]),
      ...["f1", "earlier", "removed"].flatMap((key) => [{ filter: said(key) }, { treeFilter: said(key) }]),
      ...[{ runType: "llm" }, { isRoot: true }, { isRoot: false }, { hasError: true }, { hasError: false }],
      ...[{ executionOrder: 1 }, { executionOrder: 2 }, { since: run.start_time }, { until: run.start_time }],
      ...Array.from({ length: 20 }, () => ({ filter: filter(), isRoot: true })),
      ...Array.from({ length: 20 }, () => ({ traceFilter: filter() })),
      ...Array.from({ length: 20 }, () => ({ treeFilter: filter(), projectIds: [project, second] })),
    ];
    for (const query of queries)
      expect(await idsOf(other, query), JSON.stringify(query)).toEqual(await idsOf(postgres, query));
    expect(await idsOf(other, { traceFilter: named("root") })).toHaveLength(3);
    expect(await idsOf(other, { exampleIds: [example.reference_example_id!] })).toContain(example.id);
  });

  test("finds runs among ten thousand ids", async () => {
    const { runs } = engines;
    const ids = [...Array.from({ length: 10_000 }, () => randomUUID()), ...runs.map(({ id }) => id)];
    expect(await idsOf(other, { ids })).toHaveLength(liveRuns);
    expect(await idsOf(other, { ids, exampleIds: ids })).toEqual([]);
    const some = ids.slice(-4_900);
    for (const listed of [some, some.map((id) => id.replaceAll("-", ""))]) {
      const filter = parseFilter(`in(id, [${listed.map((id) => `'${id}'`).join(",")}])`);
      expect(await idsOf(other, { filter })).toHaveLength(liveRuns);
    }
    expect((await other.payloadsOf(workspaceId, ids)).size).toBe(runs.length - 15);
  });

  test("asks of payloads of every form what PostgreSQL asks", async () => {
    const texts = [
      ...['["a", 1, null, true]', '[["a"], {"b": 1}]', '{"": 1}', '{"a": {"": {"b": null}}}', '{"a.b": 1}'],
      ...['{"a": ["x", {"b": 2}]}', '"a"', "1", "{}", "[]", '{"1": "x", "-1": [0]}', '[[[["a"]]]]'],
    ];
    const made = texts.map((text) =>
      sampleRun({ ...documents, name: text, inputs: JSON.parse(text) as SampleRun["inputs"] }),
    );
    await insertRuns(engines.testDatabase.database.sql, made);
    await insertJudged(
      engines.clickHouse,
      made.map((run) => ({ ...run, feedback: [] })),
    );
    const paths = [
      ...[
        "",
        ".",
        "a",
        "b",
        "x",
        "null",
        "true",
        "1",
        "0",
        "2",
        "-1",
        "-2",
        "-4",
        "-5",
        "+1",
        " 1",
        "01",
        "1x",
      ],
      ...["a.b", "a.", "a..b", "a.1", "a.1.b", "a.-1.b", "a.0.b", "1.b", "-1.0", "0.0.0.0", "0.0.0.0.0"],
    ];
    const wanted = [
      ...['["a"]', "[]", "{}", "[1]", "[null]", "[[]]", '[["a"]]', '[{"b": 1}]', '{"a": {}}', '{"a": []}'],
      ...['{"a": ["x"]}', '{"a": [{"b": 2}, "x"]}', '{"a": {"": {"b": null}}}', '{"": 1}', '[[[["a"]]]]'],
    ];
    const filters = [
      ...paths.map((path) => `exists(inputs, ${JSON.stringify(path)})`),
      ...wanted.map((text) => `has(inputs, ${JSON.stringify(text)})`),
    ];
    const names = async (reading: RunReading, text: string) => {
      const query = { workspaceId: documents.workspace_id, filter: parseFilter(text) };
      const { rows } = await reading.find(query, { limit: 100, order: "asc" }, new Set(["name"]));
      return rows.map((row) => row.name).sort();
    };
    for (const text of filters) expect(await names(other, text), text).toEqual(await names(postgres, text));
  });

  test("compares with costs and times that no run can have", async () => {
    for (const text of [
      ...[
        "gt(total_cost, 1e20)",
        "lt(total_cost, 1e300)",
        "gte(total_cost, -1e20)",
        "in(total_cost, [2, 1e30])",
      ],
      ...[
        'gt(start_time, "0001-01-01")',
        'lt(end_time, "9999-12-31T23:59:59Z")',
        'in(start_time, ["0001-01-01"])',
      ],
    ]) {
      const query = { filter: parseFilter(text) };
      expect(await idsOf(other, query), text).toEqual(await idsOf(postgres, query));
    }
  });

  test("finds a trace, payloads, projects and beginnings of ids", async () => {
    const { runs, tree, ghost } = engines;
    const { id, trace_id } = runs[3]!;
    const fields = new Set<RunField>(["dotted_order", "outputs"]);
    for (const traceId of [trace_id, tree.root.id, ghost.trace_id]) {
      const [expected, actual] = await Promise.all(
        [postgres, other].map((reading) => reading.findTrace({ workspaceId, traceId }, 10, fields)),
      );
      expect(actual!.rows.map(plain)).toEqual(expected!.rows.map(plain));
      expect(actual!.next).toEqual(expected!.next);
    }
    const ids = [ghost.id, ...runs.map((run) => run.id)];
    expect(await other.payloadsOf(workspaceId, ids)).toEqual(await postgres.payloadsOf(workspaceId, ids));
    for (const each of [id, ghost.id, runs.find((run) => run.session_id === foreign)!.id])
      expect(await other.projectOf(workspaceId, each)).toBe(await postgres.projectOf(workspaceId, each));
    const beginning = {
      from: `${id.slice(0, 1)}0000000-0000-0000-0000-000000000000`,
      to: `${id.slice(0, 1)}fffffff-ffff-ffff-ffff-ffffffffffff`,
    };
    const begun = async (reading: RunReading) =>
      byId(await reading.findByIds({ workspaceId, ids: beginning, limit: 100 }));
    expect(await begun(other)).toEqual(await begun(postgres));
    const lost = { workspaceId, ids: { from: ghost.id, to: ghost.id }, limit: 100 };
    expect(await other.findByIds(lost)).toEqual([]);
    expect(await other.findByIds({ workspaceId, ids: null, limit: 5 })).toEqual([]);
    const place = { workspaceId, projectId: project };
    const [actual, expected] = [await other.seen(place), await postgres.seen(place)];
    expect(actual.runs).toHaveLength(expected.runs.length);
    expect(actual.runs).toEqual(expect.arrayContaining(expected.runs));
    expect(expected.feedbackKeys).toEqual(["f1", "f2"]);
    expect(actual.feedbackKeys).toEqual(expected.feedbackKeys);
  });

  test("ends a page early where it would be too large, and goes on behind it", async () => {
    const made = [
      sampleRun({ ...documents, outputs: { text: "a".repeat(maxPageBytes) } }),
      ...Array.from({ length: 2 }, () =>
        sampleRun({ ...documents, start_time: "2026-01-02T00:00:00.000000Z" }),
      ),
    ];
    await insertJudged(
      engines.clickHouse,
      made.map((run) => ({ ...run, feedback: [] })),
    );
    const query = { workspaceId: documents.workspace_id, ids: made.map(({ id }) => id) };
    const fields = new Set<RunField>(["outputs"]);
    const first = await other.find(query, { limit: 3, order: "asc" }, fields);
    expect(first.rows.map(({ id }) => id)).toEqual([made[0]!.id]);
    expect(String(first.rows[0]!.outputs).length).toBeGreaterThan(maxPageBytes);
    const rest = await other.find(query, { limit: 3, order: "asc", after: first.next! }, fields);
    expect(rest.rows).toHaveLength(2);
    expect(rest.next).toBeNull();
  });

  test.each([1, 4, 1_000])(
    "finds the pages of one project whether they are among its first %i rows or not",
    async (nearRows) => {
      const { clickHouse, testDatabase } = engines;
      const near = new ClickHouseRunReading({
        ...{ clickHouse, database: testDatabase.database, readTimeoutMs: 60_000, nearRows },
      });
      const walk = async (reading: RunReading, query: RunQuery, order: "asc" | "desc") => {
        const rows: RunRow[] = [];
        for (let after: Cursor | undefined | null; after !== null; ) {
          const found = await reading.find(query, { limit: 9, order, after }, new Set<RunField>(["is_root"]));
          rows.push(...found.rows);
          after = found.next;
        }
        return rows;
      };
      const ofProject = { workspaceId, projectIds: [project] };
      const times = (await walk(postgres, ofProject, "asc")).map((row) => row.start_time);
      const middle = times[Math.floor(times.length / 2)]!;
      expect(times.length).toBeGreaterThan(9);
      const filters = ['neq(status, "none")', 'search("a")', 'eq(name, "root")'].map((text) => ({
        filter: parseFilter(text),
      }));
      const places = [{ until: middle }, { since: middle }];
      for (const more of [{}, { isRoot: true }, ...places, { runType: "none" }, ...filters]) {
        for (const order of ["asc", "desc"] as const) {
          const query = { ...ofProject, ...more };
          const [actual, expected] = [await walk(near, query, order), await walk(postgres, query, order)];
          expect(actual.map((row) => row.start_time)).toEqual(expected.map((row) => row.start_time));
          expect(actual.map((row) => row.id).sort()).toEqual(expected.map((row) => row.id).sort());
        }
      }
    },
  );

  test("ends what takes too long, and says what to do", async () => {
    const hurried = new ClickHouseRunReading({
      clickHouse: engines.clickHouse,
      database: engines.testDatabase.database,
      readTimeoutMs: 0.01,
    });
    await expect(
      hurried.find({ workspaceId }, { limit: 5, order: "asc" }, new Set(["id"])),
    ).rejects.toMatchObject({ code: "traces.query_timeout", kind: "unprocessable" });
  });

  test.each(["max_rows_to_read = 10", "max_bytes_to_read = 10", "max_result_rows = 10"])(
    "ends what a server refuses as too much: %s",
    async (setting) => {
      const read = new BoundedRows(engines.clickHouse, 60_000).read(
        `select number from numbers(1000) settings ${setting}, result_overflow_mode = 'throw'`,
        {},
      );
      await expect(read).rejects.toMatchObject({ code: "traces.query_timeout", kind: "unprocessable" });
    },
  );

  test("ends what takes too much memory", async () => {
    const read = new BoundedRows(engines.clickHouse, 60_000, 10_000_000).read(
      "select length(groupArray(number)) from numbers(10000000)",
      {},
    );
    await expect(read).rejects.toMatchObject({
      code: "traces.query_timeout",
      message: expect.stringContaining("was stopped. Narrow it"),
    });
  });
});
