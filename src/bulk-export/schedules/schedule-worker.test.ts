import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type BulkExportApp,
  type BulkExportAppOptions,
  createBulkExportApp,
} from "../../../tests/support/bulk-export-app.ts";
import { createTestClock, type TestClock } from "../../../tests/support/workspaces-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { insertDestination } from "../destinations/destination-store.ts";
import { findNextDue } from "./schedule-store.ts";

const hour = 3_600_000;
const minute = 60_000;
const start = new Date("2026-03-01T00:00:00Z");
let clock: TestClock;
let app: BulkExportApp;
let destinationId: string;
let projectId: string;

async function open(options: BulkExportAppOptions = {}): Promise<void> {
  clock = createTestClock(start);
  app = await createBulkExportApp({ started: false, clock, ...options });
  projectId = await app.newProject();
  const config = {
    bucket_name: "bucket",
    prefix: "",
    region: null,
    endpoint_url: null,
    include_bucket_in_prefix: true,
  };
  const more = { s3_additional_kwargs: null, config_kwargs_s3: null, request_checksum_calculation: null };
  const row = {
    id: randomUUID(),
    workspace_id: app.workspaceId,
    destination_type: "s3",
    display_name: "nowhere",
    config: { ...config, ...more },
    credentials_sealed: null,
    credentials_keys: [],
  };
  destinationId = (await insertDestination(app.database.sql, row, clock.now())).id;
}

beforeEach(() => open());
afterEach(() => app.stop());

const schedule = (change: Record<string, unknown> = {}) =>
  app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: start.toISOString(),
    interval_hours: 1,
    ...change,
  });

type Spawned = { id: string; start_time: Date; end_time: Date; status: string };

async function spawned(sourceId: string): Promise<Spawned[]> {
  const { rows } = await raw<Spawned>`select id, start_time, end_time, status from bulk_exports
    where source_bulk_export_id = ${sourceId} order by start_time`.execute(app.database.sql);
  return rows;
}

/** As its partitions would have done. */
async function end(status = "COMPLETED"): Promise<void> {
  await raw`update bulk_exports set status = ${status} where status in ('CREATED', 'RUNNING') and interval_hours is null`.execute(
    app.database.sql,
  );
}

test("lists what a schedule has created, or everything else", async () => {
  const { id } = await schedule();
  clock.advance(hour + 10 * minute);
  await app.area.tick();
  const [child] = await spawned(id);
  const ids = async (query: string) => {
    const { body } = await app.call("GET", `/api/v1/bulk-exports?${query}`);
    return (body as { id: string }[]).map((one) => one.id);
  };
  expect(await ids("")).toEqual([child!.id, id]);
  expect(await ids(`source_bulk_export_id=${id}`)).toEqual([child!.id]);
  expect(await ids(`source_bulk_export_id=${randomUUID()}`)).toEqual([]);
  expect(await ids("spawned=false")).toEqual([id]);
  expect(await ids("spawned=true")).toEqual([child!.id]);
});

test("spawns a window at its end and 10 minutes, not before", async () => {
  const { id } = await schedule();
  clock.advance(hour + 10 * minute - 1);
  await app.area.tick();
  expect(await spawned(id)).toEqual([]);
  clock.advance(1);
  await app.area.tick();
  expect(await spawned(id)).toMatchObject([
    { start_time: start, end_time: new Date(start.getTime() + hour), status: "RUNNING" },
  ]);
  const child = await app.getExport((await spawned(id))[0]!.id);
  expect(child).toMatchObject({ source_bulk_export_id: id, interval_hours: null });
  expect((await app.getExport(id)).status).toBe("CREATED");
});

test("catches up one window after another, without gap or overlap, whatever became of the one before", async () => {
  const { id } = await schedule({ start_time: "2026-02-28T20:00:00.000001Z", interval_hours: 2 });
  clock.advance(11 * minute);
  for (let round = 0; round < 6; round += 1) {
    await app.area.tick();
    await app.area.tick();
    const all = await spawned(id);
    expect(all.filter((one) => one.status === "RUNNING").length).toBeLessThanOrEqual(1);
    await end(round % 2 === 0 ? "FAILED" : "COMPLETED");
  }
  const { rows } = await raw<{ start_time: string; end_time: string }>`
    select start_time::text, end_time::text from bulk_exports where source_bulk_export_id = ${id} order by 1`.execute(
    app.database.sql,
  );
  expect(rows).toEqual([
    { start_time: "2026-02-28 20:00:00.000001+00", end_time: "2026-02-28 22:00:00.000001+00" },
    { start_time: "2026-02-28 22:00:00.000001+00", end_time: "2026-03-01 00:00:00.000001+00" },
  ]);
});

test("several processes at once spawn each window once", async () => {
  const { id } = await schedule({ start_time: "2026-02-28T00:00:00Z" });
  const others = Array.from({ length: 4 }, () => app.another());
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([app.area, ...others].map((area) => area.tick()));
    await end();
  }
  const all = await spawned(id);
  expect(all).toHaveLength(5);
  const starts = all.map((one) => one.start_time.getTime());
  expect(starts).toEqual(starts.map((_, index) => Date.parse("2026-02-28T00:00:00Z") + index * hour));
});

test("a clock that jumps back repeats nothing, and one that jumps forward skips nothing", async () => {
  const { id } = await schedule();
  clock.advance(3 * hour);
  await app.area.tick();
  await end();
  clock.advance(-10 * hour);
  await app.area.tick();
  expect(await spawned(id)).toHaveLength(1);
  clock.advance(30 * hour);
  for (let round = 0; round < 30; round += 1) {
    await app.area.tick();
    await end();
  }
  const all = await spawned(id);
  // 23 hours have passed since the start: the 23rd window ended just now and waits for its 10 minutes.
  expect(all).toHaveLength(22);
  for (const [index, one] of all.entries())
    expect(one.start_time.getTime()).toBe(start.getTime() + index * hour);
});

test("cancelling a schedule stops spawning and leaves what it spawned", async () => {
  const { id } = await schedule();
  clock.advance(2 * hour);
  await app.area.tick();
  await app.call("PATCH", `/api/v1/bulk-exports/${id}`, { body: { status: "cancelled" } });
  clock.advance(5 * hour);
  await app.area.tick();
  expect(await spawned(id)).toMatchObject([{ status: "RUNNING" }]);
});

describe("slots", () => {
  test("the rest wait in CREATED, the oldest first", async () => {
    await app.stop();
    await open({ limits: { runningPerWorkspace: 2 } });
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const body = { interval_hours: undefined, end_time: "2026-03-02T00:00:00Z" };
      ids.push((await schedule(body)).id);
      clock.advance(1_000);
    }
    await app.area.tick();
    const statuses = async () => Promise.all(ids.map(async (id) => (await app.getExport(id)).status));
    expect(await statuses()).toEqual(["RUNNING", "RUNNING", "CREATED", "CREATED"]);
    await raw`update bulk_exports set status = 'COMPLETED' where id = ${ids[0]}`.execute(app.database.sql);
    await Promise.all([app.area.tick(), app.another().tick()]);
    expect(await statuses()).toEqual(["COMPLETED", "RUNNING", "RUNNING", "CREATED"]);
  });
});

test("72 hours after its start an export is TIMEDOUT, with its partitions", async () => {
  const { id } = await schedule({ interval_hours: undefined, end_time: "2026-03-02T00:00:00Z" });
  await app.area.tick();
  await raw`insert into bulk_export_runs (id, bulk_export_id, workspace_id, session_id, start_time, end_time, status,
      export_path, created_at, updated_at)
    values (gen_random_uuid(), ${id}, ${app.workspaceId}, ${projectId}, '2026-03-01', '2026-03-02', 'RUNNING', '', now(), now())`.execute(
    app.database.sql,
  );
  clock.advance(72 * hour - 1);
  await app.area.tick();
  expect((await app.getExport(id)).status).toBe("RUNNING");
  clock.advance(1);
  await app.area.tick();
  expect(await app.getExport(id)).toMatchObject({
    status: "TIMEDOUT",
    error: expect.stringContaining("72 hours"),
    error_code: "bulk_export.timeout",
  });
  const { body } = await app.call("GET", `/api/v1/bulk-exports/${id}/runs`);
  expect(body).toMatchObject([{ status: "TIMEDOUT" }]);
});

test("over the hourly cap a window waits, and is not lost", async () => {
  await app.stop();
  await open({ limits: { caps: { createdPerHour: 1, schedules: 10, experimentsPerExport: 10 } } });
  const { id } = await schedule({ start_time: "2026-02-28T00:00:00Z" });
  for (let round = 0; round < 3; round += 1) {
    await app.area.tick();
    await end();
  }
  expect(await spawned(id)).toHaveLength(1);
  clock.advance(hour);
  await app.area.tick();
  expect((await spawned(id)).map((one) => one.start_time.toISOString())).toEqual([
    "2026-02-28T00:00:00.000Z",
    "2026-02-28T01:00:00.000Z",
  ]);
});

test("an export that another process created is started as soon as it is announced, not at the next heartbeat", async () => {
  const other = app.another({ heartbeatMs: hour });
  await other.workers.find(({ name }) => name === "bulk-export.schedules")!.start();
  const { id } = await schedule({ interval_hours: undefined, end_time: "2026-03-02T00:00:00Z" });
  await expect
    .poll(async () => (await app.getExport(id)).status, { timeout: 20_000, interval: 20 })
    .toBe("RUNNING");
});

describe("when time decides next", () => {
  const nextDue = () => findNextDue(app.database.sql, clock.now(), 72 * hour);

  test("never, while there is nothing", async () => {
    expect(await nextDue()).toBeNull();
  });

  test("ten minutes after the end of a window; one that waits for something else does not count", async () => {
    await schedule();
    expect(await nextDue()).toEqual(new Date("2026-03-01T01:10:00Z"));
    clock.advance(hour + 10 * minute);
    expect(await nextDue()).toBeNull();
  });

  test("when an export has taken too long", async () => {
    await schedule({ interval_hours: undefined, end_time: "2026-03-02T00:00:00Z" });
    await app.area.tick();
    expect(await nextDue()).toEqual(new Date("2026-03-04T00:00:00Z"));
  });
});
