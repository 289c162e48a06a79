import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertProject, insertRuns, type SampleRun, sampleRun } from "../../../tests/support/trace-rows.ts";
import { testLinks, testRunStorage } from "../../../tests/support/traces-app.ts";
import { createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { createTraceQueries } from "./trace-queries.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
const session = randomUUID();
const experiment = randomUUID();
const dataset = randomUUID();
let root: SampleRun;
let child: SampleRun;

type Page = { items: Record<string, unknown>[]; next_cursor: string | null; has_more: boolean };

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  app = await createWorkspacesApp({
    testDatabase,
    routes: createTraceQueries({ ...testRunStorage(database), links: testLinks }).routes,
  });
  const workspace_id = app.workspaceId;
  await insertProject(database.sql, { id: session, workspace_id, name: "plain" });
  await insertProject(database.sql, {
    id: experiment,
    workspace_id,
    name: "experiment",
    reference_dataset_id: dataset,
  });
  const now = Date.now();
  const recent = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString();
  const of = (run: Partial<SampleRun>) => sampleRun({ workspace_id, session_id: session, ...run });
  root = of({ name: "root", start_time: recent(60), end_time: recent(58), metadata: { a: 1 }, tags: ["x"] });
  child = of({
    name: "child",
    start_time: recent(59),
    parent_run_id: root.id,
    run_type: "llm",
    error: "boom",
  });
  await insertRuns(database.sql, [
    root,
    child,
    of({ name: "old", start_time: "2020-01-01T00:00:00Z" }),
    of({ name: "trial", start_time: "2020-01-01T00:00:00Z", session_id: experiment }),
  ]);
});
afterAll(async () => {
  await app.stop();
  await testDatabase.drop();
});

async function query(body: Record<string, unknown>): Promise<Page> {
  const answer = await app.call("POST", "/api/v2/runs/query", { body });
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as Page;
}

describe("200", () => {
  test("only the id, and only the last day, unless more is asked for", async () => {
    expect(await query({ project_ids: [session] })).toEqual({
      items: [{ id: child.id }, { id: root.id }],
      next_cursor: null,
      has_more: false,
    });
    const all = await query({ project_ids: [session], min_start_time: "2019-01-01T00:00:00Z" });
    expect(all.items).toHaveLength(3);
  });

  test("the selected fields under their newer names", async () => {
    const selects = [
      "NAME",
      "RUN_TYPE",
      "STATUS",
      "PROJECT_ID",
      "LATENCY_SECONDS",
      "METADATA",
      "TAGS",
      "SHARE_URL",
    ];
    const { items } = await query({ project_ids: [session], is_root: true, selects });
    expect(items).toEqual([
      {
        id: root.id,
        name: "root",
        run_type: "CHAIN",
        status: "SUCCESS",
        project_id: session,
        latency_seconds: 2,
        metadata: { a: 1 },
        tags: ["x"],
      },
    ]);
  });

  test("pages, conditions and experiments of a dataset", async () => {
    const first = await query({ project_ids: [session], page_size: 1 });
    expect(first).toMatchObject({ items: [{ id: child.id }], has_more: true });
    const second = await query({ project_ids: [session], page_size: 1, cursor: first.next_cursor });
    expect(second).toMatchObject({ items: [{ id: root.id }], has_more: false, next_cursor: null });
    expect((await query({ project_ids: [session], run_type: "LLM" })).items).toEqual([{ id: child.id }]);
    expect((await query({ project_ids: [session], has_error: true })).items).toEqual([{ id: child.id }]);
    expect((await query({ project_ids: [session], trace_filter: 'has(tags, "x")' })).items).toHaveLength(2);
    const trials = await query({ reference_dataset_id: dataset, selects: ["NAME"] });
    expect(trials.items).toMatchObject([{ name: "trial" }]);
  });

  test("sorted by what can be sorted, page by page, without a value last", async () => {
    const names = async (sort: string, order: string) => {
      const found: unknown[] = [];
      let cursor: string | null = null;
      do {
        const body = { project_ids: [session], min_start_time: "2019-01-01T00:00:00Z" };
        const page: Page = await query({ ...body, sort, order, selects: ["NAME"], page_size: 1, cursor });
        found.push(...page.items.map((item) => (item as { name?: string }).name));
        cursor = page.next_cursor;
      } while (cursor);
      return found;
    };
    expect(await names("name", "asc")).toEqual(["child", "old", "root"]);
    expect(await names("name", "desc")).toEqual(["root", "old", "child"]);
    const [slowest] = await names("latency", "desc");
    expect(slowest).toBe("root");
    for (const sort of ["start_time", "status", "latency", "total_tokens", "total_cost"])
      for (const order of ["asc", "desc"])
        expect((await names(sort, order)).toSorted()).toEqual(["child", "old", "root"]);
  });

  test("one run and the runs of one trace", async () => {
    const one = await app.call(
      "GET",
      `/api/v2/runs/${root.id}?project_id=${session}&selects=NAME&selects=IS_ROOT`,
    );
    expect(one).toMatchObject({ status: 200, body: { id: root.id, name: "root", is_root: true } });
    const trace = await app.call("GET", `/api/v2/traces/${root.id}/runs?project_id=${session}&selects=NAME`);
    expect(trace.body).toEqual({
      items: expect.arrayContaining([
        { id: root.id, name: "root" },
        { id: child.id, name: "child" },
      ]),
    });
  });
});

const cursorOf = (more: string) =>
  Buffer.from(`2026-01-01T00:00:00.000000Z/${randomUUID()}${more}`).toString("base64url");

describe("422", () => {
  test.each([
    {},
    { project_ids: [session], reference_dataset_id: dataset },
    { project_ids: [session], filter: "eq(" },
    { project_ids: [session], page_size: 1_001 },
    { project_ids: [session], cursor: "x" },
    { project_ids: [session], sort: "tags" },
    { project_ids: [session], sort: "latency", cursor: cursorOf("") },
    { project_ids: [session], sort: "latency", cursor: cursorOf("/slow") },
    { project_ids: [session], cursor: cursorOf("/1") },
  ])("%j", async (body) => {
    expect((await app.call("POST", "/api/v2/runs/query", { body })).status).toBe(422);
  });
});

test("413: a trace too large for an answer without pages", async () => {
  const of = (run: Partial<SampleRun>) =>
    sampleRun({
      workspace_id: app.workspaceId,
      session_id: session,
      inputs: { text: "x".repeat(9e6) },
      ...run,
    });
  const big = of({ start_time: "2026-03-01T00:00:00Z" });
  const others = [1, 2, 3].map(() => of({ start_time: "2026-03-01T00:00:01Z", parent_run_id: big.id }));
  await insertRuns(testDatabase.database.sql, [big, ...others]);
  const path = `/api/v2/traces/${big.id}/runs`;
  expect((await app.call("GET", `${path}?selects=INPUTS`)).status).toBe(413);
  expect((await app.call("GET", `${path}?selects=INPUTS_PREVIEW`)).status).toBe(200);
  const page = await query({
    project_ids: [session],
    trace_id: big.id,
    min_start_time: "2026-01-01",
    selects: ["INPUTS"],
  });
  expect(page).toMatchObject({ has_more: true });
});
