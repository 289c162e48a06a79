import { afterAll, beforeAll, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";
import { createLogger } from "../../platform/logger.ts";
import type { Builder } from "../builds/builder/builder.ts";
import { enqueueBuild } from "../desired-state/build-jobs.ts";
import { readRevision } from "../desired-state/revision-store.ts";
import { BuildWorker } from "./build-worker.ts";

let test: TestDatabase;
let folder: TempFolder;
let workspaceId: string;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  folder = await createTempFolder("build-worker");
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(async () => {
  await test?.drop();
  await folder?.remove();
});

/** A builder that every build comes to, and that fails them. */
function openWorker() {
  const begun: string[] = [];
  const builder = {
    room: () => 1,
    async build({ revisionId }: { revisionId: string }) {
      begun.push(revisionId);
      throw new AppError({ code: "build.failed", kind: "invalid", message: "It was begun." });
    },
  } as unknown as Builder;
  const worker = new BuildWorker({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }) },
    ...{ folder: folder.path, shares: false, builder },
    sourceOf: () => Promise.reject(new Error("nobody reads it")),
  });
  return { worker, begun };
}

/** A build in the midst of which builders were lost, the last one just now. */
async function lostBuild(times: number, progress: number): Promise<string> {
  const { sql } = test.database;
  const deploymentId = await insertDeployment(sql, workspaceId);
  const id = await insertRevision(sql, { workspaceId, deploymentId, status: "BUILDING" });
  await raw`update revisions set progress = ${progress} where id = ${id}`.execute(sql);
  await enqueueBuild(sql, id);
  const error = { code: "job.worker_lost", message: "", retryable: true, attempt: times };
  await raw`update jobs set attempts = ${times}, last_error = ${JSON.stringify(error)}::jsonb
    where idempotency_key = ${id}`.execute(sql);
  for (let attempt = 1; attempt < times; attempt += 1)
    await raw`insert into revision_events (revision_id, kind, message, created_at)
      values (${id}, 'builder_lost', ${`The builder ended during attempt ${attempt} of the build.`}, now())`.execute(
      sql,
    );
  return id;
}

it("begins no build again during which five builders ended; others it does", async () => {
  const [ends, fewer] = [await lostBuild(5, 30), await lostBuild(4, 30)];
  const { worker, begun } = openWorker();
  await worker.start();
  const end = (id: string) =>
    waitUntil(
      async () => {
        const revision = await readRevision(test.database.sql, id);
        return revision?.status === "BUILD_FAILED" ? revision.status_message : undefined;
      },
      { what: "its end", timeoutMs: 20_000 },
    );
  expect(await end(ends)).toMatch(/^The builder ended 5 times during this build, so it is not begun again\./);
  expect(await end(fewer)).toBe("It was begun.");
  expect(begun).toEqual([fewer]);
  await worker.stop();
});

it("a build that only waited is not to blame, and an attempt counts once", async () => {
  const waited = await lostBuild(1, 22);
  const twice = await lostBuild(5, 30);
  // Given back in order since: the error is that of an attempt which was counted.
  await raw`update jobs set last_error = jsonb_set(last_error, '{attempt}', '4') where idempotency_key = ${twice}`.execute(
    test.database.sql,
  );
  const { worker, begun } = openWorker();
  await worker.start();
  await waitUntil(() => begun.length === 2, { what: "both builds", timeoutMs: 20_000 });
  await worker.stop();
  expect(new Set(begun)).toEqual(new Set([waited, twice]));
  const { rows } = await raw<{ revision_id: string }>`
    select revision_id from revision_events where kind = 'builder_lost' and revision_id = any(${[waited, twice]}::uuid[])`.execute(
    test.database.sql,
  );
  expect(rows).toEqual(Array(4).fill({ revision_id: twice }));
});

it("takes no more builds of a burst than it can begin, and the next when one has ended", async () => {
  const { sql } = test.database;
  const ends = new Map<string, () => void>();
  const builder = {
    room: (begun: number) => 2 - begun,
    build: ({ revisionId }: { revisionId: string }) =>
      new Promise((_resolve, reject) => {
        const error = new AppError({ code: "build.failed", kind: "invalid", message: "It was ended." });
        ends.set(revisionId, () => reject(error));
      }),
  } as unknown as Builder;
  const done = new Set<string>();
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const deploymentId = await insertDeployment(sql, workspaceId);
    ids.push(await insertRevision(sql, { workspaceId, deploymentId, status: "AWAITING_BUILD" }));
    await enqueueBuild(sql, ids.at(-1)!);
  }
  const worker = new BuildWorker({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }) },
    ...{ folder: folder.path, shares: true, builder },
    sourceOf: () => Promise.reject(new Error("nobody reads it")),
  });
  const taken = async () => {
    const { rows } = await raw<{ count: number }>`select count(*)::int as count from jobs
      where idempotency_key = any(${ids}::text[]) and status = 'running'`.execute(sql);
    return rows[0]!.count;
  };
  await worker.start();
  for (let ended = 0; ended < 5; ended += 1) {
    await waitUntil(() => ends.size === Math.min(5, ended + 2), { what: "its builds", timeoutMs: 20_000 });
    expect(await taken()).toBe(Math.min(2, 5 - ended));
    const [id, end] = [...ends].find(([key]) => !done.has(key))!;
    done.add(id);
    end();
    await waitUntil(async () => (await readRevision(sql, id))?.status === "BUILD_FAILED", {
      ...{ what: "its end", timeoutMs: 20_000 },
    });
  }
  await worker.stop();
});
