import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FolderBlobStore } from "../../src/platform/blob/folder-blob-store.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { spawnProcess } from "../support/components/process.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../support/deployment-rows.ts";
import { countRows, countSwept, moverOf, never, readAll, readerOf, writeLines } from "../support/old-logs.ts";

const script = fileURLToPath(new URL("../support/log-mover-child.ts", import.meta.url));
let test: TestDatabase;
let temp: TempFolder;
let blobs: FolderBlobStore;
let folder: string;
let deploymentId: string;
let number = 0;
beforeAll(async () => {
  [test, temp] = await Promise.all([createTestDatabase(), createTempFolder("log-mover")]);
});
afterAll(async () => {
  await test?.drop();
  await temp?.remove();
});
beforeEach(async () => {
  const { sql } = test.database;
  await raw`delete from deployments`.execute(sql);
  number += 1;
  folder = join(temp.path, String(number));
  blobs = new FolderBlobStore(folder);
  const workspaceId = await insertWorkspace(sql);
  deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  for (const daysAgo of [3, 2, 0])
    await writeLines(sql, { deploymentId, revisionId, kind: "deploy" }, { count: 100, daysAgo });
});

const start = (halt = "") => spawnProcess(process.execPath, [script, test.url, folder, halt]);
const everything = async () => {
  const question = { deploymentId, kind: "deploy", order: "asc", limit: 90 } as const;
  return (await readAll(readerOf(test.database, blobs), question)).flat();
};

async function expectWhole(): Promise<void> {
  const found = await everything();
  expect(found).toHaveLength(300);
  expect(new Set(found.map(({ message }) => message)).size).toBe(300);
}

/** What the killed process held in the database goes with its connection. */
async function expectWholeWithout(): Promise<void> {
  await waitUntil(async () => (await lockHolders()) === 0, {
    what: "the end of its transaction",
    timeoutMs: 20_000,
  });
  await expectWhole();
}

async function lockHolders(): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from pg_locks where relation = 'deployment_logs'::regclass
      and mode = 'RowExclusiveLock'`.execute(test.database.sql);
  return rows[0]!.count;
}

describe("a process that moves old lines and is killed", () => {
  it("between the blob and its row loses nothing, and nothing is there twice", async () => {
    const child = start("after-blob");
    await child.waitForLine(/^stored/);
    await child.kill();
    await expectWholeWithout();
    expect(await countRows(test.database.sql)).toEqual({ rows: 300, segments: 0 });
    await moverOf(test.database, blobs).run(async () => {}, never);
    expect(await countRows(test.database.sql)).toEqual({ rows: 100, segments: 6 });
    expect(await blobs.list("logs/", { limit: 10 })).toHaveLength(7);
    expect(await countSwept(test.database, blobs)).toBe(6);
    await expectWhole();
  });

  it("within the transaction that takes the lines away, too", async () => {
    // Its lines are deleted by then, and the row of the segment waits for this lock.
    await test.database.transaction(async (tx) => {
      await raw`select 1 from deployments where id = ${deploymentId} for update`.execute(tx);
      const child = start();
      await child.waitForLine(/^stored/);
      await waitUntil(async () => (await lockHolders()) > 0, {
        what: "lines being deleted",
        timeoutMs: 20_000,
      });
      await child.kill();
    });
    await expectWholeWithout();
    expect(await countRows(test.database.sql)).toEqual({ rows: 300, segments: 0 });
    const next = start();
    await next.waitForLine("done");
    await next.waitExit();
    expect(await countRows(test.database.sql)).toEqual({ rows: 100, segments: 6 });
    expect(await countSwept(test.database, blobs)).toBe(6);
    await expectWhole();
  });
});
