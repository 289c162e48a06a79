import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BulkExportApp, createBulkExportApp } from "../../../tests/support/bulk-export-app.ts";
import { raw } from "../../platform/db/raw.ts";
import { insertDestination } from "../destinations/destination-store.ts";

let app: BulkExportApp;
let projectId: string;
let destinationId: string;
beforeAll(async () => {
  app = await createBulkExportApp({ started: false });
  projectId = await app.newProject();
  destinationId = await addDestination(app);
});
afterAll(() => app.stop());
beforeEach(() => raw`truncate bulk_exports, jobs cascade`.execute(app.database.sql));

/** Nothing here writes to it, so nothing has to be there. */
async function addDestination(of: BulkExportApp): Promise<string> {
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
    workspace_id: of.workspaceId,
    destination_type: "s3",
    display_name: "nowhere",
    config: { ...config, ...more },
    credentials_sealed: null,
    credentials_keys: [],
  };
  return (await insertDestination(of.database.sql, row, new Date())).id;
}

const path = "/api/v1/bulk-exports";
const oneTime = () => ({
  bulk_export_destination_id: destinationId,
  session_id: projectId,
  start_time: "2026-01-01T00:00:00Z",
  end_time: "2026-01-02T00:00:00Z",
});
const scheduled = () => ({ ...oneTime(), end_time: undefined, interval_hours: 24 });
const post = (body: Record<string, unknown>) => app.call("POST", path, { body });
const locs = (body: unknown) =>
  (body as { detail: { loc: unknown[] }[] }).detail.map((one) => one.loc.slice(1).join("."));

describe("200", () => {
  test("answers a one-time export with every field", async () => {
    const answer = await post(oneTime());
    expect(answer).toMatchObject({
      status: 200,
      body: {
        tenant_id: app.workspaceId,
        session_id: projectId,
        all_experiments: false,
        start_time: "2026-01-01T00:00:00+00:00",
        end_time: "2026-01-02T00:00:00+00:00",
        interval_hours: null,
        format: "Parquet",
        format_version: "v1",
        compression: "zstandard",
        status: "CREATED",
        source_bulk_export_id: null,
        finished_at: null,
      },
    });
    const { id } = answer.body as { id: string };
    expect((await app.call("GET", `${path}/${id}`)).body).toEqual(answer.body);
  });

  test("converts offsets, takes a naive time as UTC, and any case of the names", async () => {
    const answer = await post({
      ...oneTime(),
      start_time: "2026-01-01T00:00:00.000001",
      end_time: "2026-01-02T02:00:00+02:00",
      format: "PARQUET",
      format_version: "V2_BETA",
      compression: "Gzip",
      export_fields: ["id", "feedbacks", "id"],
      filter: " ",
    });
    expect(answer.body).toMatchObject({
      start_time: "2026-01-01T00:00:00.000001+00:00",
      end_time: "2026-01-02T00:00:00+00:00",
      format: "Parquet",
      format_version: "v2_beta",
      compression: "gzip",
      export_fields: ["id", "feedbacks"],
      filter: null,
    });
  });

  test("accepts a schedule, all experiments and an end in the future", async () => {
    expect((await post(scheduled())).body).toMatchObject({
      status: "CREATED",
      interval_hours: 24,
      end_time: null,
    });
    const all = { ...scheduled(), session_id: null, all_experiments: true, interval_hours: 168 };
    expect((await post(all)).body).toMatchObject({ all_experiments: true, session_id: null });
    expect((await post({ ...oneTime(), end_time: "2090-01-01T00:00:00Z" })).status).toBe(200);
  });

  test("lists the newest first, in pages", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push(((await post(oneTime())).body as { id: string }).id);
    const list = async (query: string) =>
      ((await app.call("GET", `${path}${query}`)).body as { id: string }[]).map((one) => one.id);
    expect(await list("")).toEqual(ids.toReversed());
    expect(await list("?limit=1&offset=1")).toEqual([ids[1]]);
    expect((await app.call("GET", `${path}?limit=0`)).status).toBe(422);
  });
});

describe("422", () => {
  const wrong: [string, Record<string, unknown>, string][] = [
    ["no destination", { bulk_export_destination_id: undefined }, "bulk_export_destination_id"],
    ["a destination that is no uuid", { bulk_export_destination_id: "x" }, "bulk_export_destination_id"],
    ["no start", { start_time: undefined }, "start_time"],
    ["a start that is no time", { start_time: "yesterday" }, "start_time"],
    ["neither project nor experiments", { session_id: undefined }, "session_id"],
    ["both project and experiments", { all_experiments: true }, "all_experiments"],
    ["experiments set to false and no project", { session_id: null, all_experiments: false }, "session_id"],
    ["no end", { end_time: undefined }, "end_time"],
    ["an end before the start", { end_time: "2025-01-01T00:00:00Z" }, "end_time"],
    ["an end at the start", { end_time: "2026-01-01T00:00:00Z" }, "end_time"],
    ["a schedule with an end", { interval_hours: 1 }, "end_time"],
    ["an interval of 0", { end_time: undefined, interval_hours: 0 }, "interval_hours"],
    ["an interval of 169", { end_time: undefined, interval_hours: 169 }, "interval_hours"],
    ["an interval that is no whole number", { end_time: undefined, interval_hours: 1.5 }, "interval_hours"],
    ["an unknown field", { export_fields: ["id", "latency"] }, "export_fields.1"],
    ["no fields", { export_fields: [] }, "export_fields"],
    ["a filter that is none", { filter: "eq(nope" }, "filter"],
    ["a trace filter that is none", { trace_filter: "eq(nope" }, "trace_filter"],
    ["an unknown format", { format: "csv" }, "format"],
    ["an unknown version", { format_version: "v9" }, "format_version"],
    ["an unknown compression", { compression: "lzma" }, "compression"],
    ["a window of a thousand years", { start_time: "1000-01-01", end_time: "2026-01-01" }, "start_time"],
  ];
  test.each(wrong)("%s", async (_name, change, field) => {
    const { status, body } = await post({ ...oneTime(), ...change });
    expect(status).toBe(422);
    expect(locs(body)).toEqual([field]);
  });

  test("comes before any look-up", async () => {
    const unknown = { bulk_export_destination_id: randomUUID(), session_id: randomUUID() };
    expect((await post({ ...oneTime(), ...unknown, filter: "eq(" })).status).toBe(422);
    expect((await post({ ...oneTime(), ...unknown, export_fields: ["x"] })).status).toBe(422);
  });

  test("an id that is no uuid, a missing source, a status that is not CANCELLED", async () => {
    expect((await app.call("GET", `${path}/x`)).status).toBe(422);
    expect((await app.call("GET", `${path}/runs`)).status).toBe(422);
    const { id } = (await post(oneTime())).body as { id: string };
    expect((await app.call("PATCH", `${path}/${id}`, { body: { status: "RUNNING" } })).status).toBe(422);
  });
});

describe("404", () => {
  test("an unknown destination or project, with what was not found", async () => {
    const unknown = randomUUID();
    const answer = await post({ ...oneTime(), bulk_export_destination_id: unknown });
    expect(answer).toMatchObject({ status: 404, body: { detail: expect.stringContaining(unknown) } });
    expect(await post({ ...oneTime(), session_id: unknown })).toMatchObject({
      status: 404,
      body: { detail: `Project ID ${unknown} not found.` },
    });
  });

  test("an unknown export, partition or schedule", async () => {
    const unknown = randomUUID();
    const { id } = (await post(oneTime())).body as { id: string };
    for (const where of [
      `/${unknown}`,
      `/${unknown}/runs`,
      `/${id}/runs/${unknown}`,
      `/runs?source_bulk_export_id=${unknown}`,
    ]) {
      expect((await app.call("GET", `${path}${where}`)).status).toBe(404);
    }
    expect((await app.call("PATCH", `${path}/${unknown}`, { body: {} })).status).toBe(404);
  });

  test("another workspace's export, destination and project", async () => {
    const { id } = (await post(oneTime())).body as { id: string };
    const made = await app.call("POST", "/v2/workspaces", { body: { name: "other" } });
    const tenant = (made.body as { id: string }).id;
    expect((await app.call("GET", `${path}/${id}`, { tenant })).status).toBe(404);
    expect((await app.call("GET", path, { tenant })).body).toEqual([]);
    expect((await app.call("POST", path, { tenant, body: oneTime() })).status).toBe(404);
    expect((await app.call("GET", `${path}/destinations/${destinationId}`, { tenant })).status).toBe(404);
  });
});

describe("cancelling", () => {
  const cancel = (id: string, body: unknown = { status: "Cancelled" }) =>
    app.call("PATCH", `${path}/${id}`, { body });

  test("ends a waiting export and a schedule; twice is no error; the status may be left out", async () => {
    for (const body of [oneTime(), scheduled()]) {
      const { id } = (await post(body)).body as { id: string };
      expect(await cancel(id)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
      expect((await cancel(id, {})).body).toMatchObject({
        status: "CANCELLED",
        finished_at: expect.any(String),
      });
    }
  });

  test.each(["COMPLETED", "FAILED", "TIMEDOUT"])("409 for one that is %s", async (status) => {
    const { id } = (await post(oneTime())).body as { id: string };
    await raw`update bulk_exports set status = ${status} where id = ${id}`.execute(app.database.sql);
    expect(await cancel(id)).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(status) },
    });
  });
});

describe("roles", () => {
  test("reading needs viewer, writing admin", async () => {
    const { id } = (await post(oneTime())).body as { id: string };
    for (const role of ["viewer", "editor"]) {
      const made = await app.call("POST", "/v2/api-keys", { body: { name: role, role } });
      const { key } = made.body as { key: string };
      expect((await app.call("GET", `${path}/${id}`, { key })).status).toBe(200);
      expect((await app.call("POST", path, { key, body: oneTime() })).status).toBe(403);
      expect((await app.call("PATCH", `${path}/${id}`, { key, body: {} })).status).toBe(403);
      expect((await app.call("DELETE", `${path}/destinations/${destinationId}`, { key })).status).toBe(403);
    }
    expect((await app.call("GET", path, { key: "nobody-knows-this-key" })).status).toBe(401);
  });
});

describe("destinations in use", () => {
  test("are not deleted; others are", async () => {
    await post(oneTime());
    const used = await app.call("DELETE", `${path}/destinations/${destinationId}`);
    expect(used).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining("1 export uses it") },
    });
    const free = await addDestination(app);
    expect((await app.call("DELETE", `${path}/destinations/${free}`)).status).toBe(204);
    expect((await app.call("DELETE", `${path}/destinations/${free}`)).status).toBe(404);
  });
});

describe("caps and plans", () => {
  let capped: BulkExportApp;
  const caps = { createdPerHour: 5, schedules: 3, experimentsPerExport: 2 };
  let body: ReturnType<typeof oneTime>;
  beforeAll(async () => {
    capped = await createBulkExportApp({ started: false, edition: "cloud", limits: { caps } });
    body = {
      ...oneTime(),
      bulk_export_destination_id: await addDestination(capped),
      session_id: await capped.newProject(),
    };
  });
  afterAll(() => capped.stop());
  const create = (change: Record<string, unknown> = {}) =>
    capped.call("POST", path, { body: { ...body, ...change } });

  test("403 on the free plan, after 422 and before 404", async () => {
    expect(await create()).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("paid plan") },
    });
    expect((await create({ end_time: null })).status).toBe(422);
    expect((await create({ session_id: randomUUID() })).status).toBe(403);
    await capped.workspaces.plans.setPlan(capped.organizationId, "plus");
    expect((await create({ session_id: randomUUID() })).status).toBe(404);
  });

  test("429 beyond the hourly cap, exactly, however many ask at once", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(answers.filter((one) => one.status === 200)).toHaveLength(5);
    const refused = answers.filter((one) => one.status === 429);
    expect(refused).toHaveLength(15);
    expect(refused[0]!.body).toEqual({ detail: expect.stringContaining("60 minutes") });
    const seconds = Number(refused[0]!.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(3_500);
    expect(seconds).toBeLessThanOrEqual(3_600);
  });

  test("frees a place when the oldest is 60 minutes old", async () => {
    await raw`update bulk_exports set created_at = now() - interval '59 minutes 30 seconds'
      where id = (select id from bulk_exports order by created_at limit 1)`.execute(capped.database.sql);
    expect(Number((await create()).headers.get("retry-after"))).toBeLessThanOrEqual(31);
    await raw`update bulk_exports set created_at = created_at - interval '31 seconds'
      where id = (select id from bulk_exports order by created_at limit 1)`.execute(capped.database.sql);
    expect((await create()).status).toBe(200);
    expect((await create()).status).toBe(429);
  });

  test("schedules have a cap of their own and do not count as creations", async () => {
    const schedule = { end_time: undefined, interval_hours: 1 };
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(schedule)));
    expect(answers.map((one) => one.status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
    const refused = answers.find((one) => one.status === 429)!;
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    const { id } = answers.find((one) => one.status === 200)!.body as { id: string };
    await capped.call("PATCH", `${path}/${id}`, { body: { status: "CANCELLED" } });
    expect((await create(schedule)).status).toBe(200);
  });
});
