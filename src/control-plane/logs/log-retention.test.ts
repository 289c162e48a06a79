import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { raw } from "../../platform/db/raw.ts";
import { pruneLogs, untoldTimes } from "./log-store.ts";

let test: TestDatabase;
let workspaceId: string;
beforeAll(async () => {
  test = await createTestDatabase();
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(() => test?.drop());

const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs);

/** The log of a deployment, its lines stored so many days ago; what is left of it is `left`. */
async function logOf(mirrored: boolean) {
  const { sql } = test.database;
  const deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  await raw`update deployments set mirrored = ${mirrored} where id = ${deploymentId}`.execute(sql);
  return {
    async add(message: string, days: number, at = daysAgo(days)): Promise<number> {
      const { rows } = await raw<{ id: number }>`
        insert into deployment_logs (deployment_id, revision_id, kind, at, level, message, stored_at)
        values (${deploymentId}, ${revisionId}, 'deploy', ${at}, 'INFO', ${message}, ${daysAgo(days)}) returning id`.execute(
        sql,
      );
      return rows[0]!.id;
    },
    async left(): Promise<string[]> {
      const { rows } = await raw<{ message: string }>`
        select message from deployment_logs where deployment_id = ${deploymentId} order by id`.execute(sql);
      return rows.map(({ message }) => message);
    },
  };
}

async function tellUpTo(cursor: number): Promise<void> {
  await raw`insert into mirror_state (epoch, log_cursor) values (1, ${cursor})
    on conflict (only_row) do update set log_cursor = excluded.log_cursor`.execute(test.database.sql);
}

const prune = (maxLines: number) =>
  pruneLogs(test.database.sql, {
    ...{ before: daysAgo(7), untoldBefore: daysAgo(7 * untoldTimes), maxLines },
  });

it("keeps what the platform has not heard yet four times as long", async () => {
  const [here, remote] = [await logOf(false), await logOf(true)];
  await here.add("old", 8);
  await remote.add("beyond every bound", 29);
  const told = await remote.add("told and old", 8);
  await remote.add("untold and old", 8);
  // Programs write the times of their lines themselves.
  await remote.add("untold, of another century", 0, new Date("1970-01-02T00:00:00Z"));
  await tellUpTo(told);
  await prune(1_000);
  expect(await here.left()).toEqual([]);
  expect(await remote.left()).toEqual(["untold and old", "untold, of another century"]);
  await tellUpTo(told + 1_000);
  await prune(1_000);
  expect(await remote.left()).toEqual([]);
});

it("keeps four times as many of them", async () => {
  const [here, remote] = [await logOf(false), await logOf(true)];
  await tellUpTo(0);
  for (let line = 1; line <= 10; line += 1) {
    await here.add(`${line}`, 0);
    await remote.add(`${line}`, 0);
  }
  await prune(2);
  expect(await here.left()).toEqual(["9", "10"]);
  expect(await remote.left()).toEqual(["3", "4", "5", "6", "7", "8", "9", "10"]);
  await tellUpTo(Number.MAX_SAFE_INTEGER);
  await prune(2);
  expect(await remote.left()).toEqual(["9", "10"]);
});

it("keeps what a listener has that was upgraded and has not reached its platform since", async () => {
  const [here, remote] = [await logOf(false), await logOf(true)];
  await raw`delete from mirror_state`.execute(test.database.sql);
  for (const log of [here, remote]) await log.add("old", 8);
  await prune(1_000);
  expect(await here.left()).toEqual([]);
  expect(await remote.left()).toEqual(["old"]);
});
