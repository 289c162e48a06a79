import { randomUUID } from "node:crypto";
import { Client, type Run } from "langsmith";
import { traceable } from "langsmith/traceable";
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
import { systemClock } from "../../platform/clock.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { listen, type RunningServer } from "../../platform/http/server/server.ts";
import { createLogger } from "../../platform/logger.ts";
import { createTraces, type Traces } from "../traces.ts";

/** The unmodified client reads what is stored, over a real connection. */
let testDatabase: TestDatabase;
let app: WorkspacesApp;
let server: RunningServer;
let client: Client;
let traces: Traces;
const projectId = randomUUID();
const runs: SampleRun[] = [];

// Clients call `listRuns` and `readRun` for as long as their library has them, warning or not.
process.noDeprecation = true;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const logger = createLogger({ level: "silent" });
  traces = createTraces({
    seal: new SecretBox({ currentKey: "a key of the tests alone" }),
    database,
    clock: systemClock,
    logger,
  });
  await traces.start();
  app = await createWorkspacesApp({ testDatabase, routes: traces.routes });
  server = await listen(app, { host: "127.0.0.1", port: 0, logger });
  client = new Client({ apiUrl: `${server.url}/api/v1`, apiKey: app.apiKey });
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
  await traces.stop();
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

  test("a broken filter is refused with its place", async () => {
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

describe("what the client traced", () => {
  test("is found by its text", async () => {
    const options = { client, tracingEnabled: true, project_name: "traced" };
    const look = traceable(async (word: string) => ({ found: word.length }), {
      ...options,
      name: "look",
      run_type: "tool",
    });
    const ask = traceable(async (question: string) => look(question), {
      ...options,
      name: "ask",
      tags: ["spoken"],
      metadata: { customer: "acme", tier: 2 },
    });
    await ask("where is the heron");
    await ask("nowhere");
    await client.awaitPendingTraceBatches();
    const find = async (filter: string, more: Partial<Parameters<Client["listRuns"]>[0]> = {}) => {
      const found: Run[] = [];
      for await (const run of client.listRuns({ projectName: "traced", filter, ...more })) found.push(run);
      return found.map((run) => run.name).sort();
    };
    expect(await find('and(eq(metadata_key, "customer"), eq(metadata_value, "acme"))')).toContain("ask");
    expect(await find("and(eq(metadata_key, 'tier'), eq(metadata_value, 2), eq(is_root, true))")).toEqual([
      "ask",
      "ask",
    ]);
    expect(await find('and(has(tags, "spoken"), search("HERON"))')).toEqual(["ask"]);
    expect(await find('and(eq(output_key, "found"), eq(output_value, 7))')).toEqual(["ask", "look"]);
    expect(await find('eq(run_type, "tool")', { traceFilter: 'search(inputs, "heron")' })).toEqual(["look"]);
    expect(await find("eq(is_root, true)", { treeFilter: 'and(eq(name, "look"), lt(latency, 60))' })).toEqual(
      ["ask", "ask"],
    );
  });
});
