import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultExportFields } from "../../src/bulk-export/exports/export-fields.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import {
  createBucket,
  downloadExport,
  type ExportedFiles,
  listKeys,
  parseManifest,
  readObject,
} from "../support/exported-files.ts";
import { oddRuns, type StoredRun, storedRun, storeRuns } from "../support/exported-runs.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

const bucket = "exports";
let rgw: CephRgw;
let app: BulkExportApp;
let destinationId: string;
beforeAll(async () => {
  [rgw, app] = await Promise.all([useCephRgw(), createBulkExportApp()]);
  await createBucket(rgw, bucket);
  destinationId = await app.newDestination(rgw, bucket, "lake/traces");
}, 180_000);
afterAll(async () => {
  await app?.stop();
  await rgw?.stop();
});

const place = (projectId: string) => ({ workspaceId: app.workspaceId, projectId });
async function exportAll(body: Record<string, unknown> = {}): Promise<{ id: string; files: ExportedFiles }> {
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    start_time: "2024-02-29T00:00:00Z",
    end_time: "2024-03-02T00:00:00Z",
    format_version: "v2_beta",
    ...body,
  });
  const ended = await app.waitFor(id);
  expect(ended).toMatchObject({ status: "COMPLETED", error: null });
  return { id, files: await downloadExport(rgw, bucket, id, "lake/traces") };
}

const byTime = (a: StoredRun, b: StoredRun) =>
  a.start_time < b.start_time || (a.start_time === b.start_time && a.id < b.id) ? -1 : 1;

describe.each(["zstandard", "snappy", "gzip", "none"])("files compressed with %s", (compression) => {
  test("hold every value as it was stored, for two independent readers", async () => {
    const projectId = await app.newProject();
    const odd = oddRuns();
    await storeRuns(app.database.sql, place(projectId), odd);
    const { id, files } = await exportAll({ session_id: projectId, compression });
    const folder = `lake/traces/export_id=${id}/tenant_id=${app.workspaceId}/session_id=${projectId}/runs`;
    expect(files.keys).toEqual([
      `${folder}/year=2024/month=2/day=29/part-00000.parquet`,
      `${folder}/year=2024/month=3/day=1/part-00000.parquet`,
    ]);

    const expected = odd
      .slice(0, -1)
      .toSorted(byTime)
      .map((run) => ({
        ...run,
        tenant_id: app.workspaceId,
        session_id: projectId,
        feedback_stats: null,
      }));
    const times = ["start_time", "end_time", "first_token_time"];
    const exact = times.map((name) => `strftime(${name}, '%Y-%m-%dT%H:%M:%S.%fZ') as ${name}`).join(", ");
    const byDuck = await files.query(
      (table) =>
        `select * exclude (export_id, year, month, day) replace (${exact})
         from ${table} order by start_time, id`,
    );
    expect(byDuck).toEqual(expected);

    const again = await files.readAgain();
    const iso = (value: unknown) => (value instanceof Date ? value.toISOString() : value);
    const whole = (value: unknown) => (typeof value === "bigint" ? String(value) : value);
    expect(again).toHaveLength(expected.length);
    for (const [index, row] of again.entries()) {
      expect(Object.keys(row)).toEqual([...defaultExportFields]);
      const wanted = expected[index]! as Record<string, unknown>;
      for (const [name, value] of Object.entries(row)) {
        if (!times.includes(name)) expect({ [name]: whole(value) }).toEqual({ [name]: wanted[name] });
        // That reader's times stop at the millisecond; the other one's were compared to the microsecond.
        else expect({ [name]: iso(value) }).toEqual({ [name]: isoMs(wanted[name]) });
      }
    }
    await files.remove();
  });
});

function isoMs(value: unknown): unknown {
  return typeof value === "string" ? new Date(value).toISOString() : value;
}

test("every file has the same fixed types, also where all values are null, and statistics", async () => {
  const projectId = await app.newProject();
  await storeRuns(app.database.sql, place(projectId), [
    storedRun("2024-02-29T01:00:00.000001Z"),
    oddRuns()[2]!,
  ]);
  const { files } = await exportAll({ session_id: projectId });
  const types = new Set<string>();
  for (const key of files.keys) {
    const metadata = files.metadata(key);
    const schema = metadata.schema.map(({ name, type, repetition_type, logical_type, converted_type }) =>
      JSON.stringify({ name, type, repetition_type, logical_type, converted_type }),
    );
    types.add(schema.join("\n"));
    const start = metadata.row_groups[0]!.columns[9]!.meta_data!;
    expect(start.path_in_schema).toEqual(["start_time"]);
    expect(start.statistics).toMatchObject({ null_count: 0n });
    expect(start.statistics?.min_value).toBeInstanceOf(Date);
  }
  expect(types.size).toBe(1);
  const described = await files.query(
    (table) => `select column_name, column_type from (describe select * from ${table})`,
  );
  const typeOf = Object.fromEntries(described.map((row) => [row.column_name, row.column_type]));
  expect(typeOf).toMatchObject({
    id: "VARCHAR",
    parent_run_ids: "VARCHAR[]",
    tags: "VARCHAR[]",
    start_time: "TIMESTAMP WITH TIME ZONE",
    first_token_time: "TIMESTAMP WITH TIME ZONE",
    is_root: "BOOLEAN",
    total_tokens: "BIGINT",
    total_cost: "DOUBLE",
    inputs: "VARCHAR",
    feedback_stats: "VARCHAR",
  });
  await files.remove();
});

test("half a surrogate in a payload keeps no reader of JSON from the others", async () => {
  const projectId = await app.newProject();
  const broken = '{"half":"\\ud83d","whole":"\\ud83d\\ude00"}';
  await storeRuns(app.database.sql, place(projectId), [
    storedRun("2024-02-29T01:00:00.000001Z", {
      inputs: broken,
      outputs: broken,
      extra: broken,
      events: `[${broken}]`,
    }),
  ]);
  const { files } = await exportAll({ session_id: projectId });
  const texts = [
    "inputs->>'half'",
    "outputs->>'half'",
    "extra->>'half'",
    "events->0->>'half'",
    "inputs->>'whole'",
  ];
  const [row] = await files.query((table) => `select [${texts.join(", ")}] as texts from ${table}`);
  expect(row).toEqual({ texts: ["\ufffd", "\ufffd", "\ufffd", "\ufffd", "\u{1f600}"] });
  await files.remove();
});

test("feedback is summed up with breakdowns of texts only, and listed when asked for", async () => {
  const projectId = await app.newProject();
  const run = storedRun("2024-02-29T10:00:00.000000Z");
  const bare = storedRun("2024-02-29T11:00:00.000000Z");
  await storeRuns(app.database.sql, place(projectId), [run, bare]);
  const give = (key: string, score: number | null, value: unknown) =>
    raw`insert into trace_feedback (id, workspace_id, run_id, project_id, key, score, value, created_at)
      values (${randomUUID()}, ${app.workspaceId}, ${run.id}, ${projectId}, ${key}, ${score},
        ${value === undefined ? null : JSON.stringify(value)}, '2024-03-01T00:00:00Z')`.execute(
      app.database.sql,
    );
  await give("taste", 0.5, "good");
  await give("taste", 1, "good");
  await give("taste", null, 7);
  await give("flag", null, { deep: true });
  const fields = ["feedbacks", "id", "feedback_stats"];
  const { files } = await exportAll({ session_id: projectId, export_fields: fields });
  const rows = await files.readAgain();
  expect(Object.keys(rows[0]!)).toEqual(["id", "feedback_stats", "feedbacks"]);
  const stats = JSON.parse(rows[0]!.feedback_stats as string);
  expect(stats.taste).toMatchObject({ n: 3, avg: 0.75, values: { good: 2 } });
  expect(stats.flag).toMatchObject({ n: 1, values: {} });
  const listed = JSON.parse(rows[0]!.feedbacks as string) as { key: string; value: unknown }[];
  expect(listed.map((one) => one.value)).toEqual(expect.arrayContaining(["good", 7, { deep: true }]));
  expect(rows[1]).toEqual({ id: bare.id, feedback_stats: null, feedbacks: "[]" });
  await files.remove();
});

test("a filter decides which runs are written", async () => {
  const projectId = await app.newProject();
  const odd = oddRuns();
  await storeRuns(app.database.sql, place(projectId), odd);
  const filter = `and(eq(run_type, "llm"), has(tags, "a,b"), neq(name, "it's"))`;
  const { files } = await exportAll({ session_id: projectId, filter });
  expect((await files.readAgain()).map((row) => row.id)).toEqual([odd[2]!.id]);
  await files.remove();
});

test("a trace filter keeps whole traces", async () => {
  const projectId = await app.newProject();
  const runs = ["kept", "left"].flatMap((name) => {
    const root = storedRun("2024-02-29T01:00:00.000000Z", { name });
    const place = { trace_id: root.id, parent_run_id: root.id, parent_run_ids: [root.id], is_root: false };
    return [root, storedRun("2024-03-01T01:00:00.000000Z", { name: "step", ...place })];
  });
  await storeRuns(app.database.sql, place(projectId), runs);
  const trace_filter = 'eq(name, "kept")';
  const { id, files } = await exportAll({ session_id: projectId, trace_filter });
  const written = (await files.readAgain()).map((row) => row.id);
  expect(written.sort()).toEqual([runs[0]!.id, runs[1]!.id].sort());
  const manifest = await readObject(rgw, bucket, `lake/traces/_manifests/${id}.json`);
  expect(parseManifest(manifest).trace_filter).toBe(trace_filter);
  await files.remove();
});

test("columns left out are not there, and a window is exact to the microsecond", async () => {
  const projectId = await app.newProject();
  await storeRuns(app.database.sql, place(projectId), oddRuns());
  const { files } = await exportAll({
    session_id: projectId,
    export_fields: ["name", "session_id"],
    start_time: "2024-02-29T23:59:59.999999",
    end_time: "2024-03-01T02:00:00.000001+02:00",
  });
  expect(await files.readAgain()).toEqual([{ name: "leap day, last microsecond", session_id: projectId }]);
  await files.remove();
});

test("partitions tile the window, empty days have no file, and the manifest is written last", async () => {
  const projectId = await app.newProject();
  await storeRuns(app.database.sql, place(projectId), oddRuns());
  const { id, files } = await exportAll({
    session_id: projectId,
    start_time: "2024-02-27T06:00:00Z",
    end_time: "2024-03-02T18:00:00Z",
  });
  const { body } = await app.call("GET", `/api/v1/bulk-exports/${id}/runs`);
  const partitions = body as {
    id: string;
    start_time: string;
    end_time: string;
    status: string;
    metadata: Metadata;
  }[];
  expect(partitions.map(({ start_time, end_time }) => [start_time, end_time])).toEqual([
    ["2024-02-27T06:00:00+00:00", "2024-02-28T00:00:00+00:00"],
    ["2024-02-28T00:00:00+00:00", "2024-02-29T00:00:00+00:00"],
    ["2024-02-29T00:00:00+00:00", "2024-03-01T00:00:00+00:00"],
    ["2024-03-01T00:00:00+00:00", "2024-03-02T00:00:00+00:00"],
    ["2024-03-02T00:00:00+00:00", "2024-03-02T18:00:00+00:00"],
  ]);
  expect(partitions.map((partition) => partition.metadata.result.rows_written)).toEqual([0, 0, 2, 3, 1]);
  expect(partitions[0]!.metadata.result.exported_files).toEqual([]);
  expect(partitions.flatMap((partition) => partition.metadata.result.exported_files)).toEqual(
    files.keys.map((key) => `${bucket}/${key}`),
  );
  const one = await app.call("GET", `/api/v1/bulk-exports/${id}/runs/${partitions[3]!.id}`);
  expect(one.body).toEqual(partitions[3]);

  const manifest = parseManifest(await readObject(rgw, bucket, `lake/traces/_manifests/${id}.json`));
  expect(manifest).toMatchObject({ export_id: id, rows: 6, fields: [...defaultExportFields] });
  const listed = manifest.files as { key: string; rows: number; bytes: number }[];
  expect(listed.map((file) => file.key)).toEqual(files.keys);
  for (const file of listed) expect((await readObject(rgw, bucket, file.key)).length).toBe(file.bytes);
  expect((await app.getExport(id)).progress).toMatchObject({
    rows_written: 6,
    files_written: 3,
    percentage: 100,
    runs_total: 5,
  });
  await files.remove();
});

type Metadata = { result: { rows_written: number; exported_files: string[] } };

test("all experiments are those there when it starts, and projects that are none are left out", async () => {
  const experiments = [
    await app.newProject({ experiment: true }),
    await app.newProject({ experiment: true }),
  ];
  const plain = await app.newProject();
  for (const projectId of [...experiments, plain]) {
    await storeRuns(app.database.sql, place(projectId), [storedRun("2024-02-29T01:00:00.000000Z")]);
  }
  const { files } = await exportAll({ all_experiments: true });
  const sessions = (await files.readAgain()).map((row) => row.session_id);
  expect(sessions.sort()).toEqual([...experiments].sort());
  await files.remove();
});

test("a file of many parts arrives whole", async () => {
  const projectId = await app.newProject();
  const runs = Array.from({ length: 20 }, (_, index) =>
    storedRun(`2024-02-29T10:00:${String(index).padStart(2, "0")}.000000Z`, {
      outputs: JSON.stringify(randomBytes(600_000).toString("base64")),
    }),
  );
  await storeRuns(app.database.sql, place(projectId), runs);
  const { files } = await exportAll({ session_id: projectId, compression: "none" });
  expect(files.keys).toHaveLength(1);
  const read = await files.readAgain();
  expect(read.map((row) => row.outputs)).toEqual(runs.map((run) => run.outputs));
  await files.remove();
});

test("over the limit of experiments the oldest are exported and the rest are named", async () => {
  const caps = { createdPerHour: 10, schedules: 10, experimentsPerExport: 2 };
  const capped = await createBulkExportApp({ limits: { caps } });
  const projects: string[] = [];
  for (const day of ["03", "01", "02"]) {
    projects.push(await capped.newProject({ experiment: true, startTime: `2024-01-${day}T00:00:00Z` }));
  }
  const { id } = await capped.newExport({
    bulk_export_destination_id: await capped.newDestination(rgw, bucket),
    all_experiments: true,
    start_time: "2024-02-29T00:00:00Z",
    end_time: "2024-03-01T00:00:00Z",
  });
  expect(await capped.waitFor(id)).toMatchObject({ status: "COMPLETED", skipped_session_ids: [projects[0]] });
  const { body } = await capped.call("GET", `/api/v1/bulk-exports/${id}/runs`);
  const exported = (body as { session_id: string }[]).map((partition) => partition.session_id);
  expect(exported.sort()).toEqual([projects[1], projects[2]].sort());
  await capped.stop();
});

test("a schedule catches up by itself, and its partitions are listed together", async () => {
  const projectId = await app.newProject();
  const at = (hoursAgo: number) => new Date(Date.now() - hoursAgo * 3_600_000);
  const runs = [2.9, 1.9].map((hours) => storedRun(at(hours).toISOString().replace("Z", "000Z")));
  await storeRuns(app.database.sql, place(projectId), runs);
  const source = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: at(3.2).toISOString(),
    interval_hours: 1,
    export_fields: ["id"],
  });
  type Listed = { bulk_export_id: string; status: string; metadata: Metadata };
  const list = async () =>
    (await app.call("GET", `/api/v1/bulk-exports/runs?source_bulk_export_id=${source.id}`)).body as Listed[];
  await expect
    .poll(async () => new Set((await list()).map((each) => each.bulk_export_id)).size, { timeout: 60_000 })
    .toBe(3);
  await expect
    .poll(async () => (await list()).every((each) => each.status === "COMPLETED"), { timeout: 60_000 })
    .toBe(true);
  const written = (await list()).reduce((sum, partition) => sum + partition.metadata.result.rows_written, 0);
  expect(written).toBe(2);
  expect((await app.getExport(source.id)).status).toBe("CREATED");
  await app.call("PATCH", `/api/v1/bulk-exports/${source.id}`, { body: {} });
}, 120_000);

test("leaves nothing of its test writes behind", async () => {
  expect(await listKeys(rgw, bucket, "lake/traces/tmp/")).toEqual([]);
});
