import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BulkExportApp, createBulkExportApp } from "../../../tests/support/bulk-export-app.ts";
import { manyRuns, storedRun, storeRuns } from "../../../tests/support/exported-runs.ts";
import { createTestClock } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { RunExportSource } from "../../traces/storage/postgres/export/run-export-source.ts";

let app: BulkExportApp;
let projectId: string;
let experiments: string[];
const clock = createTestClock(new Date("2026-05-06T12:00:00Z"));
beforeAll(async () => {
  app = await createBulkExportApp({ started: false, clock });
  projectId = await app.newProject();
  experiments = [await app.newProject({ experiment: true }), await app.newProject({ experiment: true })];
  const store = (project: string, runs: Parameters<typeof storeRuns>[2]) =>
    storeRuns(app.database.sql, { workspaceId: app.workspaceId, projectId: project }, runs);
  await store(projectId, [
    ...manyRuns(30, "2026-05-05"),
    storedRun("2026-05-05T13:00:00.000000Z", { status: "error" }),
    storedRun("2026-05-06T00:00:00.000000Z"),
    storedRun("2026-05-06T13:00:00.000000Z"),
  ]);
  await store(experiments[0]!, manyRuns(4, "2026-05-05"));
  await store(experiments[1]!, manyRuns(5, "2026-05-05"));
});
afterAll(() => app.stop());

const window = { start_time: "2026-05-05T00:00:00Z", end_time: "2026-05-06T00:00:00Z" };
const preview = (body: Record<string, unknown>) => app.call("POST", "/api/v1/bulk-exports/preview", { body });

describe("200", () => {
  test("counts what an export would hold: the end is exclusive", async () => {
    const answer = await preview({ session_id: projectId, ...window });
    expect(answer).toMatchObject({ status: 200, body: { rows: 31, estimate: false, projects: 1 } });
  });

  test("counts what the filter lets through", async () => {
    const { body } = await preview({ session_id: projectId, ...window, filter: 'eq(status, "error")' });
    expect(body).toEqual({ rows: 1, estimate: false, projects: 1 });
  });

  test("counts all experiments, and no other project", async () => {
    const { body } = await preview({ all_experiments: true, ...window });
    expect(body).toEqual({ rows: 9, estimate: false, projects: 2 });
  });

  test("for a schedule, what it would have to catch up with", async () => {
    const start_time = window.start_time;
    const { body } = await preview({ session_id: projectId, start_time, interval_hours: 1 });
    expect(body).toEqual({ rows: 32, estimate: false, projects: 1 });
    const later = await preview({
      session_id: projectId,
      start_time: "2027-01-01T00:00:00Z",
      interval_hours: 1,
    });
    expect(later.body).toEqual({ rows: 0, estimate: false, projects: 1 });
  });

  test("changes nothing", async () => {
    const { rows } = await raw<{ n: number }>`select count(*)::int as n from bulk_exports`.execute(
      app.database.sql,
    );
    expect(rows).toEqual([{ n: 0 }]);
  });
});

test("what takes too long to count is guessed, and marked as a guess", async () => {
  await raw.raw("analyze trace_runs").execute(app.database.sql);
  const source = new RunExportSource({ database: app.database, databaseUrl: app.databaseUrl });
  const many = Array.from({ length: 40 }, (_, index) => `search("nothing ${index}")`);
  const counted = await source.countRuns({
    workspaceId: app.workspaceId,
    projectIds: [projectId],
    from: "2026-05-05T00:00:00Z",
    to: "2026-05-06T00:00:00Z",
    // Longer to plan than a millisecond, on any machine.
    filter: `or(${many.join(", ")})`,
    traceFilter: null,
    timeoutMs: 1,
  });
  expect(counted.estimate).toBe(true);
  expect(counted.rows).toBeGreaterThanOrEqual(0);
});

test("404 for a project that is not there", async () => {
  const answer = await preview({ session_id: randomUUID(), ...window });
  expect(answer.status).toBe(404);
});

test.each([
  ["no project", { ...window }, "session_id"],
  [
    "an end before the start",
    { session_id: randomUUID(), ...window, end_time: "2026-05-04T00:00:00Z" },
    "end_time",
  ],
  ["no end", { session_id: randomUUID(), start_time: window.start_time }, "end_time"],
  ["a filter that is none", { session_id: randomUUID(), ...window, filter: "eq(status" }, "filter"],
  [
    "a trace filter that is none",
    { session_id: randomUUID(), ...window, trace_filter: "eq(status" },
    "trace_filter",
  ],
])("422 for %s", async (_what, body, field) => {
  const answer = await preview(body);
  expect(answer.status).toBe(422);
  expect((answer.body as { detail: { loc: unknown[] }[] }).detail.map((one) => one.loc.at(-1))).toContain(
    field,
  );
});
