import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertFeedback,
  insertProject,
  insertRuns,
  type SampleRun,
  sampleRun,
} from "../../../tests/support/trace-rows.ts";
import { testLinks, testRunStorage } from "../../../tests/support/traces-app.ts";
import { createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { createTraceQueries } from "./trace-queries.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
let session: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { routes } = createTraceQueries({ ...testRunStorage(testDatabase.database), links: testLinks });
  app = await createWorkspacesApp({ testDatabase, routes });
});
afterAll(async () => {
  await app.stop();
  await testDatabase.drop();
});
beforeEach(async () => {
  session = randomUUID();
  await insertProject(testDatabase.database.sql, {
    id: session,
    workspace_id: app.workspaceId,
    name: session,
  });
});

type Found = Record<string, unknown> & { id: string; name: string };
type Page = { runs: Found[]; cursors: { next: string | null }; parsed_query: string | null };

async function keep(...runs: Partial<SampleRun>[]): Promise<SampleRun[]> {
  const made = runs.map((run) => sampleRun({ workspace_id: app.workspaceId, session_id: session, ...run }));
  await insertRuns(testDatabase.database.sql, made);
  return made;
}

async function query(body: Record<string, unknown>): Promise<Page> {
  const answer = await app.call("POST", "/api/v1/runs/query", { body: { session: [session], ...body } });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Page;
}

async function names(body: Record<string, unknown>): Promise<string[]> {
  return (await query(body)).runs.map((run) => run.name);
}

const at = (second: number) => `2026-03-01T00:00:${String(second).padStart(2, "0")}.000000Z`;

describe("POST /api/v1/runs/query 200", () => {
  test("answers a run as clients read it", async () => {
    const [run] = await keep({
      name: "call",
      run_type: "llm",
      start_time: "2026-03-01T00:00:00.123456Z",
      end_time: "2026-03-01T00:00:01.623456Z",
      inputs: { question: 'a "quoted" \n thing', list: [1, null] },
      outputs: { answer: 42 },
      tags: ["x"],
      metadata: { user: "u" },
      total_tokens: 12,
      total_cost: 0.25,
      thread_id: "t",
    });
    await insertFeedback(testDatabase.database.sql, [
      { workspace_id: app.workspaceId, run_id: run!.id, key: "ok", score: 1 },
      { workspace_id: app.workspaceId, run_id: run!.id, key: "ok", score: 0 },
      { workspace_id: app.workspaceId, run_id: run!.id, key: "mood", value: "good" },
    ]);
    const { runs, cursors, parsed_query } = await query({ filter: 'eq(run_type, "llm")' });
    expect(cursors).toEqual({ next: null });
    expect(parsed_query).toBe('eq(run_type, "llm")');
    expect(runs).toEqual([
      expect.objectContaining({
        id: run!.id,
        session_id: session,
        tenant_id: app.workspaceId,
        trace_id: run!.id,
        start_time: "2026-03-01T00:00:00.123456Z",
        end_time: "2026-03-01T00:00:01.623456Z",
        latency: 1.5,
        status: "success",
        is_root: true,
        inputs: { question: 'a "quoted" \n thing', list: [1, null] },
        outputs: { answer: 42 },
        extra: { metadata: { user: "u" } },
        tags: ["x"],
        total_tokens: 12,
        total_cost: "0.25",
        parent_run_ids: [],
        thread_id: "t",
        feedback_stats: {
          ok: { n: 2, avg: 0.5, values: {} },
          mood: { n: 1, avg: null, values: { good: 1 } },
        },
        app_path: expect.stringContaining(run!.id),
      }),
    ]);
  });

  test("select leaves out what was not asked for", async () => {
    await keep({ inputs: { a: 1 }, outputs: { b: 2 } });
    const [run] = (await query({ select: ["id", "outputs", "no_such_field"] })).runs;
    expect(run).toMatchObject({ outputs: { b: 2 }, run_type: "chain" });
    expect(run).not.toHaveProperty("inputs");
    expect(run).not.toHaveProperty("feedback_stats");
    expect(run).not.toHaveProperty("no_such_field");
  });

  test("pages through runs of one moment without a gap or a repetition, both ways", async () => {
    const runs = await keep(...Array.from({ length: 23 }, (_, i) => ({ start_time: at(Math.floor(i / 5)) })));
    const expected = runs
      .map((run) => [run.start_time, run.id] as const)
      .sort(([a, x], [b, y]) => a.localeCompare(b) || x.localeCompare(y))
      .map(([, id]) => id);
    for (const order of ["asc", "desc"]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Page = await query({ limit: 4, order, cursor });
        expect(page.runs.length).toBeLessThanOrEqual(4);
        seen.push(...page.runs.map((run) => run.id));
        cursor = page.cursors.next;
        // What arrives meanwhile must not shift the pages.
        await keep({ start_time: order === "desc" ? at(50) : "2026-02-01T00:00:00.000000Z" });
      } while (cursor !== null);
      expect(seen.filter((id) => expected.includes(id))).toEqual(
        order === "asc" ? expected : expected.toReversed(),
      );
      await raw`delete from trace_runs where project_id = ${session} and not id = any(${expected}::uuid[])`.execute(
        testDatabase.database.sql,
      );
    }
  });

  test("more than a hundred are asked for in pages of a hundred", async () => {
    await keep(...Array.from({ length: 101 }, () => ({})));
    const page = await query({ limit: 1_000, select: ["id"] });
    expect(page.runs).toHaveLength(100);
    expect((await query({ cursor: page.cursors.next, select: ["id"] })).runs).toHaveLength(1);
  });

  test("large payloads make more pages, never a larger answer", async () => {
    const big = { text: "x".repeat(9 * 1024 * 1024) };
    await keep(
      ...[1, 2, 3, 4, 5].map((second) => ({ name: `n${second}`, start_time: at(second), inputs: big })),
    );
    const first = await query({});
    expect(first.runs.map((run) => run.name)).toEqual(["n5", "n4", "n3"]);
    const second = await query({ cursor: first.cursors.next });
    expect(second.runs.map((run) => run.name)).toEqual(["n2", "n1"]);
    expect(second.cursors.next).toBeNull();
    const light = await query({ select: ["inputs_preview"] });
    expect(light.runs).toHaveLength(5);
    expect(light.runs[0]!.inputs_preview).toHaveLength(250);
  });

  test("each way of naming runs", async () => {
    const example = randomUUID();
    const [root] = await keep({
      name: "root",
      start_time: at(0),
      end_time: at(9),
      reference_example_id: example,
    });
    const [child] = await keep(
      { name: "child", start_time: at(1), parent_run_id: root!.id, run_type: "tool", error: "boom" },
      { name: "other", start_time: at(5) },
    );
    expect(await names({})).toEqual(["other", "child", "root"]);
    expect(await names({ order: "asc" })).toEqual(["root", "child", "other"]);
    expect(await names({ is_root: true })).toEqual(["other", "root"]);
    expect(await names({ is_root: false })).toEqual(["child"]);
    expect(await names({ run_type: "tool" })).toEqual(["child"]);
    expect(await names({ id: [child!.id] })).toEqual(["child"]);
    expect(await names({ id: child!.id.toUpperCase() })).toEqual(["child"]);
    expect(await names({ trace: root!.id, limit: 1 })).toEqual(["child", "root"]);
    expect(await names({ parent_run: root!.id })).toEqual(["child"]);
    expect(await names({ reference_example: [example] })).toEqual(["root"]);
    expect(await names({ error: true })).toEqual(["child"]);
    expect(await names({ error: false })).toEqual(["other", "root"]);
    expect(await names({ start_time: at(1) })).toEqual(["other", "child"]);
    expect(await names({ end_time: at(5) })).toEqual(["child", "root"]);
    expect(await names({ query: "BOOM" })).toEqual(["child"]);
    expect(await names({ filter: 'neq(name, "root")', trace_filter: 'eq(name, "root")' })).toEqual(["child"]);
    expect(await names({ is_root: true, trace_filter: 'eq(name, "root")' })).toEqual(["root"]);
    expect(await names({ tree_filter: 'eq(error, "boom")' })).toEqual(["child", "root"]);
    expect(await names({ filter: "", session: null, id: [root!.id] })).toEqual(["root"]);
  });

  test("several projects are merged in order, and all of them when none is named", async () => {
    const second = randomUUID();
    const { sql } = testDatabase.database;
    await insertProject(sql, { id: second, workspace_id: app.workspaceId, name: second });
    await keep({ name: "a", start_time: at(1) }, { name: "c", start_time: at(3) });
    await keep({ name: "b", start_time: at(2), session_id: second });
    expect(await names({ session: [session, second] })).toEqual(["c", "b", "a"]);
    expect(await names({ session: null, limit: 2, start_time: at(1), end_time: at(4) })).toHaveLength(2);
    await raw`update trace_projects set deleted_at = now() where id = ${second}`.execute(sql);
    expect(await names({ session: [session, second] })).toEqual(["c", "a"]);
  });

  test("another workspace's runs are not found by any name", async () => {
    const foreign = { workspace_id: randomUUID(), session_id: randomUUID() };
    const { sql } = testDatabase.database;
    await insertProject(sql, { id: foreign.session_id, workspace_id: foreign.workspace_id, name: "theirs" });
    const [run] = await keep(foreign);
    expect(await names({ session: [foreign.session_id] })).toEqual([]);
    expect(await names({ session: null, id: [run!.id] })).toEqual([]);
    expect(await names({ session: null, trace: run!.id })).toEqual([]);
    expect((await app.call("GET", `/api/v1/runs/${run!.id}`)).status).toBe(404);
    expect((await app.call("GET", `/api/v1/traces/${run!.id}`)).status).toBe(404);
    expect((await app.call("GET", `/api/v2/runs/${run!.id}`)).status).toBe(404);
    expect((await app.call("GET", `/api/v1/sessions/${foreign.session_id}/stats`)).status).toBe(404);
    const stats = await app.call("POST", "/api/v1/runs/stats", { body: { session: [foreign.session_id] } });
    expect(stats.body).toMatchObject({ run_count: 0 });
  });
});

describe("POST /api/v1/runs/query 422", () => {
  test.each([
    ["filter", 'eq(nmae, "x")', 3],
    ["trace_filter", "eq(name", 7],
    ["tree_filter", "and()", 4],
  ])("%s names its place", async (field, text, offset) => {
    const answer = await app.call("POST", "/api/v1/runs/query", { body: { [field]: text } });
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", field], ctx: { offset, line: 1, column: offset + 1 } }] },
    });
  });

  test.each([
    { cursor: "nonsense" },
    { cursor: Buffer.from("2026-01-01/x' or true --").toString("base64url") },
    { limit: 0 },
    { session: ["x"] },
    { start_time: "yesterday" },
    { order: "sideways" },
  ])("%j", async (body) => {
    expect((await app.call("POST", "/api/v1/runs/query", { body })).status).toBe(422);
  });
});

describe("POST /api/v1/runs/query/validate 200", () => {
  test("a good query", async () => {
    const answer = await app.call("POST", "/api/v1/runs/query/validate", {
      body: { filter: 'eq(name, "x")' },
    });
    expect(answer).toMatchObject({ status: 200, body: { valid: true, errors: [] } });
  });

  test("every broken filter with its place", async () => {
    const body = { filter: 'eq(name, "x"', tree_filter: "eq(\n nope, 1)" };
    const answer = await app.call("POST", "/api/v1/runs/query/validate", { body });
    expect(answer.body).toMatchObject({
      valid: false,
      errors: [
        {
          field: "filter",
          reason: "ends_too_early",
          problem: "The filter ends too early.",
          ...{ line: 1, column: 13, offset: 12, expected: '")"', found: null, choices: null },
        },
        {
          field: "tree_filter",
          reason: "unknown_field",
          problem: 'There is no field "nope".',
          ...{ line: 2, column: 2, offset: 5, found: "nope", choices: expect.arrayContaining(["name"]) },
        },
      ],
    });
  });
});

describe("GET 200", () => {
  test("one run", async () => {
    const [run] = await keep({ name: "one", inputs: { a: 1 } });
    const answer = await app.call("GET", `/api/v1/runs/${run!.id}`);
    expect(answer).toMatchObject({ status: 200, body: { id: run!.id, name: "one", inputs: { a: 1 } } });
  });

  test("a trace in the order of its tree, payloads only when asked for", async () => {
    const [root] = await keep({ name: "root", start_time: at(0), inputs: { a: 1 } });
    const under = (name: string, start: string, parent: SampleRun): Partial<SampleRun> => {
      const id = randomUUID();
      const dotted_order = `${parent.dotted_order}.${start.replace(/[-:.]/g, "")}${id}`;
      return { id, name, start_time: start, parent_run_id: parent.id, trace_id: root!.id, dotted_order };
    };
    const [first] = await keep(under("first", at(1), root!), under("second", at(2), root!));
    await keep(under("leaf", at(3), first!));
    const answer = await app.call("GET", `/api/v1/traces/${root!.id}`);
    const trace = answer.body as { truncated: boolean; runs: Found[] };
    expect(trace.truncated).toBe(false);
    expect(trace.runs.map((run) => run.name)).toEqual(["root", "first", "leaf", "second"]);
    expect(trace.runs[0]).not.toHaveProperty("inputs");
    const full = await app.call("GET", `/api/v1/traces/${root!.id}?select=inputs`);
    expect((full.body as typeof trace).runs[0]).toMatchObject({ inputs: { a: 1 } });
  });
});

describe("GET /api/v1/sessions/{id}/filter-values 200", () => {
  test("what recent runs hold, most frequent first, of this workspace alone", async () => {
    await keep(
      { name: "often", tags: ["a"], metadata: { user: "u", deep: { x: 1 }, n: 1 } },
      { name: "often", tags: ["a", "b"], metadata: { user: "v" } },
      { name: "once", run_type: "llm", metadata: { user: "u" } },
    );
    const answer = await app.call("GET", `/api/v1/sessions/${session}/filter-values`);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        names: ["often", "once"],
        run_types: ["chain", "llm"],
        tags: ["a", "b"],
        metadata: { user: ["u", "v"], n: ["1"] },
        feedback_keys: [],
      },
    });
    const foreign = randomUUID();
    await keep({ workspace_id: randomUUID(), session_id: foreign, name: "theirs" });
    expect((await app.call("GET", `/api/v1/sessions/${foreign}/filter-values`)).body).toMatchObject({
      names: [],
    });
  });
});

describe("404", () => {
  test.each(["/api/v1/runs/", "/api/v1/traces/", "/api/v2/runs/"])("%s", async (path) => {
    const answer = await app.call("GET", `${path}${randomUUID()}`);
    expect(answer).toMatchObject({ status: 404, body: { detail: expect.stringContaining("not found") } });
  });
});
