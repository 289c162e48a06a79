import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { segmentKey } from "../../src/control-plane/logs/log-segment.ts";
import type { LogQuery } from "../../src/control-plane/logs/log-store.ts";
import type { BlobPlace } from "../../src/platform/blob/blob-place.ts";
import type { BlobStore } from "../../src/platform/blob/blob-store.ts";
import { openBlobStore } from "../../src/platform/blob/open-blob-store.ts";
import { openDatabase } from "../../src/platform/db/connection/open-database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { bucketPlace } from "../support/blob-place.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../support/deployment-rows.ts";
import { createBucket } from "../support/exported-files.ts";
import {
  countRows,
  countSwept,
  dayMs,
  moverOf,
  never,
  readAll,
  readerOf,
  writeLines,
} from "../support/old-logs.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

const unfenced = async () => {};
let temp: TempFolder;
let rgw: CephRgw;
let test: TestDatabase;
let workspaceId: string;
beforeAll(async () => {
  [temp, rgw, test] = await Promise.all([createTempFolder("old-logs"), useCephRgw(), createTestDatabase()]);
  await createBucket(rgw, "old-logs");
  workspaceId = await insertWorkspace(test.database.sql);
}, 180_000);
afterAll(async () => {
  await test?.drop();
  await rgw?.stop();
  await temp?.remove();
});

const places = {
  "a folder": (): BlobPlace => ({ kind: "folder", folder: join(temp.path, randomUUID()) }),
  "a bucket": (): BlobPlace => bucketPlace(rgw, "old-logs", `${randomUUID()}/`),
};
/** Nobody listens on this port. */
const away: BlobPlace = bucketPlace(
  { endpoint: "http://127.0.0.1:9", region: "us-east-1", accessKey: "a", secretKey: "b" },
  "none",
);

describe.each(Object.entries(places))("old lines in %s", (_kind, newPlace) => {
  let blobs: BlobStore;
  let deploymentId: string;
  let revisions: string[];
  beforeEach(async () => {
    const { sql } = test.database;
    await raw`delete from deployments`.execute(sql);
    blobs = await openBlobStore(newPlace());
    deploymentId = await insertDeployment(sql, workspaceId);
    const other = await insertDeployment(sql, workspaceId, "other");
    revisions = [];
    for (const number of [1, 2])
      revisions.push(await insertRevision(sql, { workspaceId, deploymentId, number }));
    for (const daysAgo of [4, 3, 2, 0]) {
      for (const [index, revisionId] of revisions.entries()) {
        const place = { deploymentId, revisionId };
        await writeLines(sql, { ...place, kind: "deploy" }, { count: 33, daysAgo, from: index * 100 });
        await writeLines(sql, { ...place, kind: "build" }, { count: 11, daysAgo });
        await writeLines(sql, { deploymentId: other, revisionId, kind: "deploy" }, { count: 7, daysAgo });
      }
    }
    return () => blobs.close();
  });

  const ask = (more: Partial<LogQuery> = {}): LogQuery => ({
    ...{ deploymentId, kind: "deploy", order: "asc", limit: 1_000 },
    ...more,
  });
  const questions = (): LogQuery[] => {
    const filters: Partial<LogQuery>[] = [
      {},
      { kind: "build" },
      { revisionId: revisions[0] },
      { revisionId: revisions[1], level: "ERROR" },
      { text: "LINE 1" },
      { text: "grüsse" },
      { text: "grÜße äÖü" },
      { text: "οδοσ" },
      { text: '"quote" and \\ and' },
      { text: "🙂" },
      { runId: "run-1" },
      { startTime: new Date(Date.now() - 3.5 * dayMs) },
      { endTime: new Date(Date.now() - 2.9 * dayMs), level: "WARNING" },
      { startTime: new Date(Date.now() - 3.1 * dayMs), endTime: new Date(Date.now() - 2.2 * dayMs) },
    ];
    const ways = [
      { order: "asc", limit: 1_000 },
      { order: "desc", limit: 1_000 },
      { order: "asc", limit: 40 },
      { order: "desc", limit: 50 },
    ] as const;
    return filters.flatMap((filter) => ways.map((way) => ask({ ...filter, ...way })));
  };
  const answers = (asked = questions()) => {
    const reader = readerOf(test.database, blobs);
    return Promise.all(asked.map((question) => readAll(reader, question)));
  };
  const pages = () => answers(questions().slice(0, 4));

  it("every question has the answer it had before, page for page", { timeout: 60_000 }, async () => {
    const before = await answers();
    expect(before[0]!.flat()).toHaveLength(264);
    expect(before.filter((pages) => pages.length === 0)).toHaveLength(4); // "grüsse" is no "grüße".
    const made = await moverOf(test.database, blobs).run(unfenced, never);
    expect(await countRows(test.database.sql)).toEqual({ rows: 102, segments: made });
    expect(await answers()).toEqual(before);
    // Whole days, a few dozen lines each, and nothing of the last day.
    expect(await blobs.list("logs/", { limit: 100 })).toHaveLength(made);
    expect(await moverOf(test.database, blobs).run(unfenced, never)).toBe(0);
  });

  it("a line that comes late keeps its place, and moves nothing", async () => {
    const { sql } = test.database;
    const late = await raw<{ id: number }>`
      delete from deployment_logs where id = (select min(id) + 5 from deployment_logs where deployment_id = ${deploymentId})
      returning *`.execute(sql);
    await moverOf(test.database, blobs).run(unfenced, never);
    await raw`insert into deployment_logs overriding system value
      select * from json_populate_record(null::deployment_logs, ${JSON.stringify(late.rows[0])}::json)`.execute(
      sql,
    );
    expect(await moverOf(test.database, blobs).run(unfenced, never)).toBe(0);
    for (const order of ["asc", "desc"] as const) {
      const ids = (await readAll(readerOf(test.database, blobs), ask({ order, limit: 9 })))
        .flat()
        .map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => (order === "asc" ? a - b : b - a)));
      expect(ids).toContain(late.rows[0]!.id);
      expect(new Set(ids).size).toBe(264);
    }
  });

  it("two processes at once move each line once", async () => {
    const before = await pages();
    const logger = createLogger({ level: "silent" });
    const second = openDatabase({ url: test.url, poolSize: 3, logger });
    const movers = [moverOf(test.database, blobs), moverOf(second, blobs)];
    const made = await Promise.all(movers.map((mover) => mover.run(unfenced, never)));
    await moverOf(test.database, blobs).run(unfenced, never);
    await second.close();
    expect(made.reduce((a, b) => a + b)).toBeGreaterThan(0);
    const { rows, segments } = await countRows(test.database.sql);
    expect(rows).toBe(102);
    expect(await pages()).toEqual(before);
    // Who came second has taken its blobs back.
    expect(await blobs.list("logs/", { limit: 100 })).toHaveLength(segments);
  });

  it("reads what is in the database while the storage is away, and says what is not", async () => {
    await moverOf(test.database, blobs).run(unfenced, never);
    const unreachable = await openBlobStore(away);
    const reader = readerOf(test.database, unreachable);
    const newest = await reader.read(ask({ order: "desc", limit: 50 }));
    expect(newest).toMatchObject({ isCut: false, rows: { length: 50 } });
    const cut = await reader.read(ask({ order: "desc", limit: 200 }));
    expect(cut).toMatchObject({ isCut: true, rows: { length: 66 } });
    const older = ask({ order: "desc", after: cut.rows.at(-1)!.id });
    for (const question of [older, ask(), ask({ text: "of 4" })]) {
      await expect(reader.read(question)).rejects.toMatchObject({
        ...{ code: "log.storage_away", kind: "unavailable" },
        message: expect.stringContaining("order=desc"),
      });
    }
    // New lines keep coming.
    expect(await reader.read(ask({ after: newest.rows[0]!.id }))).toEqual({ rows: [], isCut: false });
    unreachable.close();
    expect((await readerOf(test.database, blobs).read(older)).rows).toHaveLength(198);
  });

  it("waits while the storage is away", async () => {
    const before = await countRows(test.database.sql);
    const unreachable = await openBlobStore(away);
    expect(await moverOf(test.database, unreachable).run(unfenced, never)).toBe(0);
    unreachable.close();
    expect(await countRows(test.database.sql)).toEqual(before);
  });

  it("says which lines the storage has lost, and gives the others", async () => {
    await moverOf(test.database, blobs, { limits: { lines: 1_000, bytes: 1_000_000 } }).run(unfenced, never);
    const { rows } = await raw<{ id: string; deployment_id: string; day: string }>`
      select id, deployment_id, day::text as day from deployment_log_segments
      where deployment_id = ${deploymentId} and kind = 'deploy' order by last_id`.execute(test.database.sql);
    expect(rows).toHaveLength(3);
    await blobs.remove(segmentKey(rows[0]!));
    await blobs.put(segmentKey(rows[1]!), Buffer.from("something else"));
    const reader = readerOf(test.database, blobs);
    for (const order of ["asc", "desc"] as const) {
      const found = (await readAll(reader, ask({ order, limit: 10 }))).flat();
      const lost = found.filter(({ message }) => message.includes("66 lines of"));
      expect(found).toHaveLength(2 + 66 + 66);
      expect(lost.map(({ message }) => message.replace(/.*lost: /, "")).toSorted()).toEqual([
        "the storage no longer has them.",
        "what the storage has in their place is damaged.",
      ]);
    }
    await raw`delete from deployment_log_segments where id = any(${rows.map(({ id }) => id)}::uuid[])`.execute(
      test.database.sql,
    );
    expect((await reader.read(ask())).rows).toHaveLength(66);
  });

  it("removes segments by age and by number, with their blobs", async () => {
    const { sql } = test.database;
    await moverOf(test.database, blobs).run(unfenced, never);
    const total = (await countRows(sql)).segments;
    await moverOf(test.database, blobs, { retentionDays: 3 }).run(unfenced, never);
    const { rows } = await raw<{ old: number; all: number }>`
      select count(*)::int as all, (count(*) filter (where day < current_date - 3))::int as old
      from deployment_log_segments`.execute(sql);
    expect(rows[0]!.old).toBe(0);
    expect(rows[0]!.all).toBeLessThan(total);
    expect(await blobs.list("logs/", { limit: 100 })).toHaveLength(rows[0]!.all);
    await moverOf(test.database, blobs, { maxLines: 10 }).run(unfenced, never);
    expect((await countRows(sql)).segments).toBeLessThan(rows[0]!.all);
    expect((await readerOf(test.database, blobs).read(ask())).rows.length).toBeGreaterThanOrEqual(66 + 10);
  });

  it("is refused when the job is another's, and takes nothing away", async () => {
    const before = await pages();
    const lost = async () => {
      throw new Error("the lease is lost");
    };
    await expect(moverOf(test.database, blobs).run(lost, never)).rejects.toThrow("the lease is lost");
    expect(await countRows(test.database.sql)).toMatchObject({ segments: 0 });
    expect(await blobs.list("logs/", { limit: 10 })).toHaveLength(1);
    const made = await moverOf(test.database, blobs).run(unfenced, never);
    expect(await countSwept(test.database, blobs)).toBe(made);
    expect(await pages()).toEqual(before);
  });

  it("moves nothing of a deleted deployment", async () => {
    await raw`update deployments set deleted_at = now()`.execute(test.database.sql);
    expect(await moverOf(test.database, blobs).run(unfenced, never)).toBe(0);
    expect(await blobs.list("logs/", { limit: 1 })).toEqual([]);
  });
});
