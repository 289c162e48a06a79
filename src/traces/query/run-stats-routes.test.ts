import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertFeedback, insertProject, insertRuns, sampleRun } from "../../../tests/support/trace-rows.ts";
import { testLinks, testRunStorage } from "../../../tests/support/traces-app.ts";
import { createWorkspacesApp, type WorkspacesApp } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { createTraceQueries } from "./trace-queries.ts";

let testDatabase: TestDatabase;
let app: WorkspacesApp;
const session = randomUUID();
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  app = await createWorkspacesApp({
    testDatabase,
    routes: createTraceQueries({ ...testRunStorage(database), links: testLinks }).routes,
  });
  const workspace_id = app.workspaceId;
  await insertProject(database.sql, { id: session, workspace_id, name: "numbers" });
  const root = sampleRun({
    workspace_id,
    session_id: session,
    start_time: "2026-03-01T10:00:00Z",
    end_time: "2026-03-01T10:00:04Z",
    total_tokens: 30,
    total_cost: 0.3,
  });
  const call = sampleRun({
    workspace_id,
    session_id: session,
    parent_run_id: root.id,
    run_type: "llm",
    start_time: "2026-03-01T10:00:01Z",
    end_time: "2026-03-01T10:00:03Z",
    first_token_time: "2026-03-01T10:00:01.5Z",
    total_tokens: 30,
    total_cost: 0.3,
  });
  const failed = sampleRun({
    workspace_id,
    session_id: session,
    start_time: "2026-03-01T12:30:00Z",
    end_time: "2026-03-01T12:30:01Z",
    error: "boom",
  });
  await insertRuns(database.sql, [root, call, failed]);
  await raw`update trace_runs set usage = '{10,20,30,0.1,0.2,0.3}' where id = ${call.id}`.execute(
    database.sql,
  );
  await insertFeedback(database.sql, [
    { workspace_id, run_id: root.id, key: "ok", score: 1 },
    { workspace_id, run_id: failed.id, key: "ok", score: 0 },
    { workspace_id, run_id: failed.id, key: "mood", value: "bad" },
  ]);
});
afterAll(async () => {
  await app.stop();
  await testDatabase.drop();
});

test("POST /api/v1/runs/stats 200: all runs, each token counted once", async () => {
  const answer = await app.call("POST", "/api/v1/runs/stats", { body: { session: [session] } });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      run_count: 3,
      error_rate: 1 / 3,
      latency_p50: 2,
      first_token_p50: 0.5,
      total_tokens: 30,
      prompt_tokens: 10,
      completion_tokens: 20,
      last_run_start_time: "2026-03-01T12:30:00.000000Z",
      feedback_stats: { ok: { n: 2, avg: 0.5, values: {} }, mood: { n: 1, avg: null, values: { bad: 1 } } },
    },
  });
  expect((answer.body as { total_cost: number }).total_cost).toBeCloseTo(0.3);
});

test("POST /api/v1/runs/stats 200: roots stand for their traces, filters hold", async () => {
  const roots = await app.call("POST", "/api/v1/runs/stats", { body: { session: [session], is_root: true } });
  expect(roots.body).toMatchObject({ run_count: 2, error_rate: 0.5, total_tokens: 30 });
  const none = await app.call("POST", "/api/v1/runs/stats", {
    body: { session: [session], filter: 'eq(name, "nothing")' },
  });
  expect(none.body).toMatchObject({ run_count: 0, error_rate: null, latency_p50: null, total_tokens: 0 });
});

test("GET /api/v1/sessions/{id}/stats 200: per stretch of time", async () => {
  const window = "start_time=2026-03-01T00:00:00Z&end_time=2026-03-02T00:00:00Z";
  const answer = await app.call("GET", `/api/v1/sessions/${session}/stats?bucket=hour&${window}`);
  expect(answer).toMatchObject({
    status: 200,
    body: {
      bucket: "hour",
      total: { run_count: 3, total_tokens: 30 },
      buckets: [
        { bucket_start: "2026-03-01T10:00:00.000000Z", run_count: 2, error_rate: 0, total_tokens: 30 },
        { bucket_start: "2026-03-01T12:00:00.000000Z", run_count: 1, error_rate: 1, total_tokens: 0 },
      ],
    },
  });
  const roots = await app.call("GET", `/api/v1/sessions/${session}/stats?bucket=day&is_root=true&${window}`);
  expect(roots.body).toMatchObject({ buckets: [{ run_count: 2 }] });
  const empty = await app.call("GET", `/api/v1/sessions/${session}/stats`);
  expect(empty.body).toMatchObject({ total: { run_count: 0 }, buckets: [] });
});

test.each([
  "bucket=year",
  "start_time=2026-01-02T00:00:00Z&end_time=2026-01-01T00:00:00Z",
  "bucket=minute&start_time=2025-01-01T00:00:00Z&end_time=2026-01-01T00:00:00Z",
  "filter=eq(nope,1)",
])("GET /api/v1/sessions/{id}/stats 422: %s", async (query) => {
  expect((await app.call("GET", `/api/v1/sessions/${session}/stats?${query}`)).status).toBe(422);
});
