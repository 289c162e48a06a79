import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createBoundedRead } from "../../src/traces/storage/bounded-read.ts";
import { ClickHouseRunReading } from "../../src/traces/storage/clickhouse/reading/clickhouse-run-reading.ts";
import { ClickHouseRunRemoval } from "../../src/traces/storage/clickhouse/removal/clickhouse-run-removal.ts";
import { holdWorkspaces } from "../../src/traces/storage/clickhouse/writing/workspace-lock-store.ts";
import { Partitions } from "../../src/traces/storage/postgres/partitions/partition-service.ts";
import { PostgresRunReading } from "../../src/traces/storage/postgres/reading/postgres-run-reading.ts";
import { PostgresRunRemoval } from "../../src/traces/storage/postgres/removal/postgres-run-removal.ts";
import type { RunReading, RunRemoval } from "../../src/traces/storage/run-storage.ts";
import { type BothEngines, startBothEngines } from "../support/both-engines.ts";
import { insertGone, insertJudged } from "../support/clickhouse-rows.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { startTcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import type { Judged } from "../support/filter-evaluator.ts";
import { holdRows } from "../support/held-rows.ts";
import {
  insertFeedback,
  insertProject,
  insertRuns,
  type SampleRun,
  sampleRun,
} from "../support/trace-rows.ts";

/** Both engines remove from the same runs, and must leave the same. */
let both: BothEngines;
let removal: RunRemoval;
let oracle: RunRemoval;
let readings: [RunReading, RunReading];

const logger = createLogger({ level: "silent" });
const never = new AbortController().signal;
const now = new Date("2026-11-15T12:00:00Z");

// The first run on a machine fetches ClickHouse.
beforeAll(async () => {
  both = await startBothEngines();
  const { clickHouse, testDatabase } = both;
  const { database } = testDatabase;
  const partitions = new Partitions({ database, clock: { now: () => now }, logger });
  removal = new ClickHouseRunRemoval({ clickHouse, database, logger });
  oracle = new PostgresRunRemoval({ database, logger, partitions });
  readings = [
    new PostgresRunReading({ database, read: createBoundedRead(database, 60_000) }),
    new ClickHouseRunReading({ clickHouse, database, readTimeoutMs: 60_000 }),
  ];
}, clickHouseStartLimitMs);
afterAll(() => both?.stop());

type Place = { workspaceId: string; projectId: string };

async function newProject(workspaceId: string = randomUUID()): Promise<Place> {
  const projectId = randomUUID();
  const { sql } = both.testDatabase.database;
  await insertProject(sql, { id: projectId, workspace_id: workspaceId, name: projectId });
  return { workspaceId, projectId };
}

/** Runs with an attachment and feedback each. */
async function fill(place: Place, runs: readonly Partial<SampleRun>[]): Promise<Judged[]> {
  const made = runs.map((run): Judged => {
    const sample = sampleRun({ workspace_id: place.workspaceId, session_id: place.projectId, ...run });
    const { workspace_id, id } = sample;
    return { ...sample, feedback: [{ workspace_id, run_id: id, key: "k", score: 1 }] };
  });
  const { sql } = both.testDatabase.database;
  await insertRuns(sql, made);
  await insertFeedback(
    sql,
    made.flatMap((run) => run.feedback),
  );
  for (const { id, workspace_id } of made)
    await raw`insert into trace_attachments (run_id, name, workspace_id, mime_type, size, content)
      values (${id}, 'a', ${workspace_id}, 'text/plain', 1, '\\x00')`.execute(sql);
  await raw`update trace_feedback f set project_id = r.project_id from trace_runs r where r.id = f.run_id`.execute(
    sql,
  );
  await insertJudged(both.clickHouse, made);
  // Deleting is a kind of merging, and must go on; of itself nothing is merged.
  for (const table of ["trace_runs", "trace_feedback"]) {
    const settings = ["max", "min"].map((space) => `max_bytes_to_merge_at_${space}_space_in_pool = 1`);
    await both.clickHouse.run(`alter table ${table} modify setting ${settings.join(", ")}`);
    await both.clickHouse.run(`system start merges ${table}`);
  }
  return made;
}

async function left(engine: 0 | 1, { workspaceId, projectId }: Place): Promise<string[]> {
  const query = { workspaceId, projectIds: [projectId] };
  const page = { limit: 500, order: "asc" } as const;
  const { rows } = await readings[engine].find(query, page, new Set(["id"]));
  return rows.map(({ id }) => id).sort();
}

/** The runs that still have attachments, feedback, and copies of it. */
async function companions({ workspaceId, projectId }: Place): Promise<Record<string, string[]>> {
  const { sql } = both.testDatabase.database;
  const attached = await raw<{ run_id: string }>`select run_id from trace_attachments
    where workspace_id = ${workspaceId}`.execute(sql);
  const judged = await raw<{ run_id: string }>`select run_id from trace_feedback
    where workspace_id = ${workspaceId} and project_id = ${projectId}`.execute(sql);
  const copied = await both.clickHouse.rows<{ run_id: string }>(
    "select distinct run_id from trace_feedback where workspace_id = {w: UUID} and project_id = {p: UUID}",
    { params: { w: workspaceId, p: projectId } },
  );
  const ids = (rows: { run_id: string }[]) => rows.map(({ run_id }) => run_id).sort();
  return { attached: ids(attached.rows), judged: ids(judged.rows), copied: ids(copied) };
}

async function untilLockIsAwaited(): Promise<void> {
  const { sql } = both.testDatabase.database;
  const waiting = async () => {
    const { rows } = await raw`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(sql);
    return rows.length > 0;
  };
  await waitUntil(waiting, { what: "the removal to wait for a lock", timeoutMs: 60_000 });
}

const idsOf = (runs: readonly Judged[]) => runs.map(({ id }) => id).sort();
const withAll = (ids: string[]) => ({ attached: ids, judged: ids, copied: ids });

async function storedRows({ workspaceId, projectId }: Place): Promise<number> {
  const [row] = await both.clickHouse.rows<{ n: number }>(
    "select count() as n from trace_runs where workspace_id = {w: UUID} and project_id = {p: UUID}",
    { params: { w: workspaceId, p: projectId } },
  );
  return row!.n;
}

describe("removing runs", { timeout: 300_000 }, () => {
  test("of a project takes all of them and no others, as many at once as are asked for", async () => {
    const place = await newProject();
    const neighbour = await newProject(place.workspaceId);
    await fill(
      place,
      Array.from({ length: 12 }, (_, n) => ({ start_time: `2026-0${1 + (n % 3)}-01T00:00:00Z` })),
    );
    const [first] = await fill(neighbour, [{}]);
    const foreign = { ...place, workspaceId: randomUUID() };
    for (const each of [removal, oracle]) {
      expect(await each.removeOfProject(foreign, 100)).toBe(0);
      expect(await each.removeOfProject(place, 5)).toBe(5);
    }
    expect(await left(1, place)).toHaveLength(7);
    // Each engine chose five of its own, and took what hangs on them.
    const other = new Set(await left(0, place));
    const inBoth = (await left(1, place)).filter((id) => other.has(id));
    const { attached, judged } = await companions(place);
    expect([attached, judged]).toEqual([[...inBoth, first!.id].sort(), inBoth]);
    for (const each of [removal, oracle]) {
      expect(await each.removeOfProject(place, 100)).toBe(7);
      expect(await each.removeOfProject(place, 100)).toBe(0);
    }
    expect([await left(0, place), await left(1, place)]).toEqual([[], []]);
    expect(await storedRows(place)).toBe(0);
    expect((await companions(place)).copied).toEqual([]);
    expect(await companions(neighbour)).toEqual(withAll([first!.id]));
    expect(await left(1, neighbour)).toEqual([first!.id]);
  });

  test("leaves no row of a run that moved", async () => {
    const place = await newProject();
    const moved = await fill(place, [{}, {}]);
    await insertGone(both.clickHouse, moved, "2025-12-01T00:00:00Z");
    expect(await removal.removeOfProject(place, 3)).toBe(3);
    expect(await removal.removeOfProject(place, 3)).toBeLessThan(3);
    expect(await storedRows(place)).toBe(0);
  });

  test("of traces takes whole traces of the project", async () => {
    const place = await newProject();
    const other = await newProject(place.workspaceId);
    const [root] = await fill(place, [{}]);
    const below = { trace_id: root!.id, parent_run_id: root!.id, parent_run_ids: [root!.id] };
    await fill(place, [below, { ...below, start_time: "2026-02-01T00:00:00Z" }]);
    const kept = await fill(place, [{}, {}]);
    const elsewhere = await fill(other, [{ ...below, trace_id: root!.id }]);
    await insertGone(both.clickHouse, [root!], "2025-12-01T00:00:00Z");
    // A row that a kept run left when it moved from this trace.
    await insertGone(both.clickHouse, [{ ...kept[0]!, trace_id: root!.id }], "2025-12-01T00:00:00Z");
    const asked = [root!.id, randomUUID()];
    for (const each of [removal, oracle]) {
      expect(await each.removeOfTraces({ ...place, workspaceId: randomUUID() }, asked, 100)).toBe(0);
      expect(await each.removeOfTraces(place, asked, 2)).toBe(2);
      expect(await each.removeOfTraces(place, asked, 2)).toBe(1);
      expect(await each.removeOfTraces(place, asked, 2)).toBe(0);
    }
    expect(await left(1, place)).toEqual(idsOf(kept));
    expect(await left(0, place)).toEqual(idsOf(kept));
    expect((await companions(place)).judged).toEqual(idsOf(kept));
    expect((await companions(place)).copied).toEqual(idsOf(kept));
    expect(await left(1, other)).toEqual(idsOf(elsewhere));
    expect((await companions(other)).copied).toEqual(idsOf(elsewhere));
  });

  test("of traces waits for who writes to runs of the workspace", async () => {
    const place = await newProject();
    const runs = await fill(place, [{}, {}]);
    const { database } = both.testDatabase;
    const writer = Promise.withResolvers<void>();
    const holds = Promise.withResolvers<void>();
    const writing = database.transaction(async (tx) => {
      await holdWorkspaces(tx, [place.workspaceId]);
      holds.resolve();
      await writer.promise;
    });
    await holds.promise;
    const removing = removal.removeOfTraces(place, idsOf(runs), 100);
    await untilLockIsAwaited();
    expect(await left(1, place)).toEqual(idsOf(runs));
    writer.resolve();
    await writing;
    expect(await removing).toBe(2);
    expect(await left(1, place)).toEqual([]);
  });

  test("takes what was said of a project, too", async () => {
    const [place, neighbour] = [await newProject(), await newProject()];
    const { sql } = both.testDatabase.database;
    const kept = await fill(neighbour, [{}]);
    await fill(place, [{}]);
    await raw`insert into trace_feedback (id, workspace_id, project_id, key)
      values (${randomUUID()}, ${place.workspaceId}, ${place.projectId}, 'whole')`.execute(sql);
    await removal.removeFeedbackOf({ ...place, workspaceId: neighbour.workspaceId });
    expect((await companions(place)).judged).toHaveLength(2);
    await removal.removeFeedbackOf(place);
    expect(await companions(place)).toMatchObject({ judged: [], copied: [] });
    expect(await companions(neighbour)).toEqual(withAll(idsOf(kept)));
  });

  test("that was cut short is completed by the next one", async () => {
    const place = await newProject();
    const runs = await fill(place, [{}, {}]);
    const { database } = both.testDatabase;
    const proxy = await startTcpProxy({ target: both.clickHouseUrl });
    const clickHouse = await ClickHouse.open({ url: proxy.urlFor(both.clickHouseUrl) });
    const unlucky = new ClickHouseRunRemoval({ clickHouse, database, logger });
    const { workspaceId } = place;
    const rows = await holdRows(
      database,
      raw`select from trace_attachments where workspace_id = ${workspaceId} for update`,
    );
    const cut = expect(unlucky.removeOfProject(place, 100)).rejects.toMatchObject({ kind: "unavailable" });
    await untilLockIsAwaited();
    await proxy.refuse();
    await rows.letGo();
    await cut;
    expect(await left(1, place)).toEqual(idsOf(runs));
    expect(await companions(place)).toEqual({ attached: [], judged: [], copied: idsOf(runs) });
    await proxy.restore();
    expect(await unlucky.removeOfProject(place, 100)).toBe(2);
    expect([await storedRows(place), (await companions(place)).copied]).toEqual([0, []]);
    await clickHouse.close();
    await proxy.stop();
  });
});

describe("retention", { timeout: 300_000 }, () => {
  const day = (daysAgo: number) => new Date(now.getTime() - daysAgo * 86_400_000).toISOString();

  test("takes what is past its time of each project, and the room of it", async () => {
    const [short, long, kept] = [await newProject(), await newProject(), await newProject()];
    const starts = [1, 9.9, 10.1, 40, 400, 401, 402].map((days) => ({ start_time: day(days) }));
    const [runs] = [await fill(short, starts), await fill(long, starts), await fill(kept, starts)];
    // One that began long ago, but was moved to a later time since; another the other way round.
    await insertGone(both.clickHouse, [runs[0]!], day(300));
    await insertGone(both.clickHouse, [runs[3]!], day(2));
    const retentions = [
      { workspace_id: short.workspaceId, project_id: short.projectId, retention_days: 10 },
      { workspace_id: long.workspaceId, project_id: long.projectId, retention_days: 365 },
    ];
    const stopped = AbortSignal.abort(new Error("enough"));
    await expect(removal.removeExpired(retentions, now, stopped)).rejects.toThrow("enough");
    expect(await left(1, short)).toHaveLength(7);
    for (const each of [removal, oracle, removal]) await each.removeExpired(retentions, now, never);
    for (const place of [short, long, kept]) {
      const expected = await left(0, place);
      expect(await left(1, place)).toEqual(expected);
      expect(await companions(place)).toEqual(withAll(expected));
    }
    expect([await left(1, short), await left(1, long), await left(1, kept)].map((ids) => ids.length)).toEqual(
      [2, 4, 7],
    );
    // Each with its earlier state; the row that the moved one left at a later time is there for as long as it would be.
    expect(await storedRows(short)).toBe(2 * 2 + 2);
  });

  test("gives back the room of months of which nothing is left, and of those of which little is", async () => {
    const [place, keeping] = [await newProject(), await newProject()];
    const many = (month: string) =>
      Array.from({ length: 6 }, () => ({ start_time: `${month}-05T00:00:00Z` }));
    await fill(place, [...many("2019-01"), ...many("2019-02"), ...many("2019-03")]);
    const held = await fill(keeping, [many("2019-02")[0]!, ...many("2019-03"), ...many("2019-03")]);
    // One part each, as after a while.
    for (const month of [201901, 201902, 201903])
      await both.clickHouse.run(`optimize table trace_runs partition ${month} final`);
    const retention = { workspace_id: place.workspaceId, project_id: place.projectId, retention_days: 10 };
    await removal.removeExpired([retention], now, never);
    const parts = await both.clickHouse.rows<{ month: string; stored: number; deleting: number }>(
      `select partition as month, sum(rows) as stored, max(has_lightweight_delete) as deleting from system.parts
        where database = currentDatabase() and table = 'trace_runs' and active and partition like '2019%'
        group by month order by month`,
    );
    // What is written anew has no deleted rows; of March more than half is kept, so it is left as it is.
    expect(parts).toEqual([
      { month: "201902", stored: 1, deleting: 0 },
      { month: "201903", stored: 18, deleting: 1 },
    ]);
    expect(await left(1, place)).toEqual([]);
    expect(await left(1, keeping)).toEqual(idsOf(held));
  });
});
