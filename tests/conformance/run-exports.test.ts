import { randomUUID } from "node:crypto";
import type { SchemaElement } from "hyparquet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportFields } from "../../src/bulk-export/exports/export-fields.ts";
import type { RunSource } from "../../src/bulk-export/partitions/run-source.ts";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { ClickHouseFileWriting } from "../../src/traces/storage/clickhouse/export/clickhouse-file-writing.ts";
import { ClickHouseRunExportSource } from "../../src/traces/storage/clickhouse/export/clickhouse-run-export-source.ts";
import { RunExportSource } from "../../src/traces/storage/postgres/export/run-export-source.ts";
import { migrateTables } from "../support/both-engines.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { SwitchedSource, storeInClickHouse } from "../support/export-engines.ts";
import { createBucket, downloadExport, parseManifest, readObject } from "../support/exported-files.ts";
import { manyRuns, oddRuns, type StoredRun, storedRun, storeRuns } from "../support/exported-runs.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

/** The same runs in both engines must make the same files. */
const bucket = "exports";
const source = new SwitchedSource();
let rgw: CephRgw;
let app: BulkExportApp;
let server: Server;
let clickHouse: ClickHouse;
let clickHouseUrl: string;
let destinationId: string;
let sources: Record<Way, RunSource>;

const ways = ["postgres", "treadle", "engine"] as const;
type Way = (typeof ways)[number];

beforeAll(async () => {
  [rgw, app, server] = await Promise.all([
    useCephRgw(),
    createBulkExportApp({ area: { source } }),
    startClickHouse(),
  ]);
  const url = await server.createDatabase();
  clickHouseUrl = url;
  clickHouse = await ClickHouse.open({ url });
  await migrateTables(clickHouse);
  const { database, databaseUrl } = app;
  const inClickHouse = { clickHouse, url, database, databaseUrl };
  sources = {
    postgres: new RunExportSource({ database, databaseUrl }),
    treadle: new ClickHouseRunExportSource({ ...inClickHouse, byEngine: false }),
    engine: new ClickHouseRunExportSource({ ...inClickHouse, byEngine: true }),
  };
  await createBucket(rgw, bucket);
  destinationId = await app.newDestination(rgw, bucket);
}, clickHouseStartLimitMs);
afterAll(async () => {
  await app?.stop();
  await clickHouse?.close();
  await server?.stop();
  await rgw?.stop();
});

async function newProject(runs: readonly StoredRun[]): Promise<string> {
  const projectId = await app.newProject();
  const place = { workspaceId: app.workspaceId, projectId };
  for (let at = 0; at < runs.length; at += 1_000)
    await storeRuns(app.database.sql, place, runs.slice(at, at + 1_000));
  await storeInClickHouse(clickHouse, place, runs);
  return projectId;
}

const byTime = (a: Record<string, unknown>, b: Record<string, unknown>) =>
  String(a.start_time) + String(a.id) < String(b.start_time) + String(b.id) ? -1 : 1;

async function exportBy(way: Way, body: Record<string, unknown>) {
  source.use(sources[way]);
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    start_time: "2024-02-28T00:00:00Z",
    end_time: "2024-03-02T00:00:00Z",
    ...body,
  });
  expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED", error: null });
  const files = await downloadExport(rgw, bucket, id);
  const query: typeof files.query = async (sql) => (files.keys.length === 0 ? [] : await files.query(sql));
  const byDuck = await query((table) => `select * exclude (export_id) from ${table}`);
  const again = await files.readAgain();
  const schemas = files.keys.map((key) => files.metadata(key).schema.slice(1).map(shapeOf));
  const types = await query((table) => `select * from (describe select * from ${table})`);
  const manifest = parseManifest(await readObject(rgw, bucket, `_manifests/${id}.json`));
  await files.remove();
  const { files: listed, rows } = manifest as { files: { key: string; rows: number }[]; rows: number };
  return {
    // Runs of one time are in the order each engine has.
    rows: byDuck.toSorted(byTime),
    again: again.toSorted(byTime),
    schemas,
    types,
    files: listed.map((file) => [file.key.replace(id, "id"), file.rows]),
    keys: files.keys.map((key) => key.replace(id, "id")),
    total: rows,
  };
}

/** A list that ClickHouse writes may not be null, and ours never is. */
function shapeOf({ repetition_type, ...element }: SchemaElement) {
  return { ...element, repetition_type: element.logical_type?.type === "LIST" ? "either" : repetition_type };
}

/** By every way; the first is PostgreSQL's. */
async function exportByAll(body: Record<string, unknown>) {
  const all = [];
  for (const way of ways) all.push(await exportBy(way, body));
  return all;
}

describe("an export of the same runs", { timeout: 120_000 }, () => {
  test.each(["zstandard", "gzip", "none"])(
    "has the same rows, types and names, compressed with %s",
    async (compression) => {
      const projectId = await newProject(oddRuns());
      const [expected, ...others] = await exportByAll({
        session_id: projectId,
        compression,
        export_fields: [...exportFields],
      });
      expect(expected!.total).toBe(5);
      for (const actual of others) expect(actual).toEqual(expected);
    },
  );

  test("has the same feedback", async () => {
    const runs = Array.from({ length: 4 }, (_, n) => storedRun(`2024-02-29T1${n}:00:00.000000Z`));
    const projectId = await newProject(runs);
    const give = (run: number, key: string, score: number | null, value: unknown) =>
      raw`insert into trace_feedback (id, workspace_id, run_id, project_id, key, score, value, created_at)
        values (${randomUUID()}, ${app.workspaceId}, ${runs[run]!.id}, ${projectId}, ${key}, ${score},
          ${value === undefined ? null : JSON.stringify(value)}, '2024-03-01T00:00:00Z')`.execute(
        app.database.sql,
      );
    await give(0, "taste", 0.5, "good");
    await give(0, "taste", 1, "good\n'\\");
    await give(0, "it's", null, 7);
    await give(2, "flag", null, { deep: true });
    const [expected, ...others] = await exportByAll({
      session_id: projectId,
      export_fields: ["feedbacks", "id", "feedback_stats", "start_time"],
    });
    expect(expected!.again[0]).toMatchObject({ feedback_stats: expect.stringContaining("taste") });
    expect(expected!.again[1]).toMatchObject({ feedback_stats: null, feedbacks: "[]" });
    for (const actual of others) expect(actual).toEqual(expected);
  });

  test.each([
    { filter: 'and(eq(run_type, "llm"), has(tags, "a,b"))' },
    { filter: 'neq(name, "it\'s \\\\ no name")' },
    { filter: 'search("backslash")' },
    { filter: 'eq(name, "nothing has this name")' },
    { trace_filter: 'eq(name, "leap day, first microsecond")' },
    { filter: "gt(total_tokens, 5)", start_time: "2024-03-01T00:00:00.000001Z" },
    { export_fields: ["name"], end_time: "2024-03-01T00:00:00.000001Z" },
  ])("has the same rows with %o", async (body) => {
    const projectId = await newProject(oddRuns());
    const fields = { export_fields: ["id", "name", "start_time", ...(body.export_fields ?? [])] };
    const [expected, ...others] = await exportByAll({ session_id: projectId, ...body, ...fields });
    for (const actual of others) expect(actual).toEqual(expected);
  });

  test("is left to Treadle where more was said of its runs than goes with a statement", async () => {
    const runs = manyRuns(20, "2024-03-01", "x");
    const projectId = await newProject(runs);
    for (const { id } of runs)
      await raw`insert into trace_feedback (id, workspace_id, run_id, key, comment)
        values (${randomUUID()}, ${app.workspaceId}, ${id}, 'mood', ${"c".repeat(500)})`.execute(
        app.database.sql,
      );
    const { database } = app;
    const window = { from: "2024-03-01T00:00:00.000000Z", to: "2024-03-02T00:00:00.000000Z" };
    const selection = {
      ...{ workspaceId: app.workspaceId, projectId, ...window, after: null, filter: null, traceFilter: null },
      fields: ["start_time", "id", "feedbacks"],
    };
    const engine = new ClickHouseFileWriting({ url: clickHouseUrl, database, mostFeedbackBytes: 5_000 });
    const { signal } = new AbortController();
    expect((await engine.cut(selection, 1e9, signal)).length).toBeGreaterThan(1);
    const credentials = { accessKeyId: "none", secretAccessKey: "none" };
    const target = { url: "http://127.0.0.1:9/none/x", credentials, metadata: {} };
    const limits = { compression: "none", groupBytes: 1e6, groupRows: 1_000 };
    const file = { name: "too-much", selection, target, ...limits };
    expect(await engine.write(file, signal, async () => {})).toBeUndefined();
  });

  test("has very many rows, each once, in order", async () => {
    const runs = manyRuns(8_000, "2024-02-29", "x".repeat(2_000));
    const projectId = await newProject(runs);
    const [expected, ...others] = await exportByAll({ session_id: projectId });
    expect(expected!.total).toBe(8_000);
    for (const actual of others) {
      expect(actual.total).toBe(8_000);
      expect(actual.again.map((row) => row.id)).toEqual(expected!.again.map((row) => row.id));
    }
  });

  test("has the same payloads where halves of surrogates were sent", async () => {
    const odd = [
      '{"half":"\\ud83d","whole":"\\ud83d\\ude00"}',
      '{"low":"\\uDE00\\ud83d","twice":"\\uD83D\\uD83D\\uDE00"}',
      '{"escaped":"\\\\ud83d","then":"\\\\\\ud83d","line":"\\n\\ud83d\\n","ü":"\\udfffü"}',
    ];
    const runs = odd.map((inputs, n) =>
      storedRun(`2024-02-29T0${n}:00:00.000000Z`, {
        inputs,
        outputs: `[${inputs}]`,
        extra: inputs,
        events: "[]",
      }),
    );
    const projectId = await newProject(runs);
    const [expected, ...others] = await exportByAll({ session_id: projectId });
    expect(JSON.stringify(expected!.again.map((row) => row.inputs))).toContain("fffd");
    for (const actual of others) expect(actual).toEqual(expected);
  });

  test("counts the same before", async () => {
    const projectId = await newProject(oddRuns());
    const counts = [];
    for (const way of ways) {
      const asked = {
        ...{ workspaceId: app.workspaceId, projectIds: [projectId], traceFilter: null, timeoutMs: 60_000 },
        ...{ from: "2024-02-29T00:00:00.000000Z", to: "2024-03-01T12:00:00.000000Z" },
      };
      counts.push(await sources[way].countRuns({ ...asked, filter: null }));
      counts.push(await sources[way].countRuns({ ...asked, filter: 'eq(run_type, "llm")' }));
      counts.push(await sources[way].countRuns({ ...asked, filter: null, projectIds: [] }));
    }
    expect(counts.map(({ rows }) => rows)).toEqual(ways.flatMap(() => [3, 1, 0]));
    expect(counts.every(({ estimate }) => !estimate)).toBe(true);
  });
});
