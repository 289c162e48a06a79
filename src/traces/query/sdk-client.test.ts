import { randomUUID } from "node:crypto";
import { Client, type Run } from "langsmith";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertFeedback,
  insertProject,
  insertRuns,
  type SampleRun,
  sampleRun,
} from "../../../tests/support/trace-rows.ts";
import { createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { listen, type RunningServer } from "../../platform/http/server.ts";
import { createLogger } from "../../platform/logger.ts";
import { createTraceQueries } from "./trace-queries.ts";

/** The unmodified client reads what is stored, over a real connection. */
let testDatabase: TestDatabase;
let app: WorkspacesApp;
let server: RunningServer;
let client: Client;
const projectId = randomUUID();
const runs: SampleRun[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  app = await createWorkspacesApp({ testDatabase, routes: createTraceQueries({ database }).routes });
  const logger = createLogger({ level: "silent" });
  server = await listen(app, { host: "127.0.0.1", port: 0, logger });
  client = new Client({ apiUrl: `${server.url}/api/v1`, apiKey: app.apiKey, autoBatchTracing: false });
  const workspace_id = app.workspaceId;
  await insertProject(database.sql, { id: projectId, workspace_id, name: "sdk" });
  const start = Date.now() - 600_000;
  const time = (offset: number) => `${new Date(start + offset * 1000).toISOString().slice(0, -1)}000Z`;
  for (let index = 0; index < 130; index++) {
    const root = sampleRun({
      workspace_id,
      session_id: projectId,
      name: `root-${index}`,
      start_time: time(index),
      end_time: time(index + 2),
      inputs: { index },
      tags: index % 2 ? ["odd"] : [],
    });
    const id = randomUUID();
    const dotted_order = `${root.dotted_order}.${time(index + 1).replace(/[-:.]/g, "")}${id}`;
    const call = sampleRun({
      workspace_id,
      session_id: projectId,
      id,
      name: "call",
      run_type: "llm",
      start_time: time(index + 1),
      parent_run_id: root.id,
      dotted_order,
    });
    runs.push(root, call);
  }
  await insertRuns(database.sql, runs);
  await insertFeedback(database.sql, [{ workspace_id, run_id: runs[0]!.id, key: "ok", score: 1 }]);
});
afterAll(async () => {
  await server.close({ graceMs: 1_000 });
  await app.stop();
  await testDatabase.drop();
});

async function list(props: Parameters<Client["listRuns"]>[0]): Promise<Run[]> {
  const found: Run[] = [];
  for await (const run of client.listRuns({ projectId, ...props })) found.push(run);
  return found;
}

describe("listRuns", () => {
  test("walks all pages, newest first", async () => {
    const found = await list({ isRoot: true });
    expect(found.map((run) => run.name)).toEqual(
      Array.from({ length: 130 }, (_, index) => `root-${129 - index}`),
    );
    expect(found[0]).toMatchObject({ inputs: { index: 129 }, status: "success", session_id: projectId });
  });

  test("stops at a limit above a page", async () => {
    expect(await list({ limit: 105, select: ["id"] })).toHaveLength(105);
  });

  test("filters, by type, by trace and by id", async () => {
    const odd = await list({ filter: 'and(eq(is_root, true), has(tags, "odd"))', select: ["name"] });
    expect(odd).toHaveLength(65);
    expect(await list({ runType: "llm", select: ["name"] })).toHaveLength(130);
    const [root] = runs;
    expect(await list({ traceId: root!.id })).toHaveLength(2);
    expect(await list({ id: [root!.id] })).toMatchObject([
      { id: root!.id, feedback_stats: { ok: { n: 1 } } },
    ]);
  });

  test("a broken filter is told with its place", async () => {
    await expect(list({ filter: "eq(nope, 1)" })).rejects.toThrow(/no field/);
  });
});

describe("readRun", () => {
  test("with the runs below it", async () => {
    const [root, call] = runs;
    const run = await client.readRun(root!.id, { loadChildRuns: true });
    expect(run).toMatchObject({ id: root!.id, child_runs: [{ id: call!.id, parent_run_id: root!.id }] });
  });

  test("of an unknown id fails", async () => {
    await expect(client.readRun(randomUUID())).rejects.toThrow(/404|not found/);
  });
});

describe("the newer client methods", () => {
  test("runs.query, runs.retrieve and traces.listRuns", async () => {
    const [root] = runs;
    const found: unknown[] = [];
    const query = client.runs.query({ project_ids: [projectId], selects: ["NAME", "STATUS"], page_size: 50 });
    for await (const run of query) found.push(run);
    expect(found).toHaveLength(260);
    const one = await client.runs.retrieve(root!.id, { project_id: projectId, selects: ["NAME", "INPUTS"] });
    expect(one).toMatchObject({ id: root!.id, name: "root-0", inputs: { index: 0 } });
    const trace = await client.traces.listRuns(root!.id, { project_id: projectId, selects: ["NAME"] });
    expect(trace.items).toHaveLength(2);
  });
});
