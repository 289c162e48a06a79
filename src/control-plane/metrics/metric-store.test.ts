import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { addMeasured, readPoints, readUsedAt } from "./metric-store.ts";

let test: TestDatabase;
let workspaceId: string;

beforeAll(async () => {
  test = await createTestDatabase();
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(() => test?.drop());

const at = new Date("2026-01-01T12:00:00Z");
const none = { cpu: null, memoryBytes: null, requests: 0, probes: 0, errors: 0, busyMs: 0 };

it("keeps what all others use when one says that it uses more than can be", async () => {
  const { sql } = test.database;
  const strange = await insertDeployment(sql, workspaceId);
  const usual = await insertDeployment(sql, workspaceId);
  await addMeasured(sql, at, [
    { ...none, deploymentId: strange, memoryBytes: 1e19 },
    { ...none, deploymentId: usual, memoryBytes: 5_000_000, requests: 2 },
  ]);
  const range = { from: at, to: at, stepSeconds: 10 };
  expect(await readPoints(sql, usual, range)).toMatchObject([{ memory_bytes: 5_000_000, requests: 2 }]);
  expect(await readPoints(sql, strange, range)).toMatchObject([{ memory_bytes: Number.MAX_SAFE_INTEGER }]);
});

it("is used when somebody asked more than whether it answers, not longer ago than matters", async () => {
  const { sql } = test.database;
  const deploymentId = await insertDeployment(sql, workspaceId);
  const step = (seconds: number) => new Date(at.getTime() + seconds * 1_000);
  await addMeasured(sql, step(0), [{ ...none, deploymentId, requests: 2, probes: 1 }]);
  await addMeasured(sql, step(10), [{ ...none, deploymentId, requests: 3, probes: 3 }]);
  expect(await readUsedAt(sql, deploymentId, step(-900))).toEqual(step(0));
  expect(await readUsedAt(sql, deploymentId, step(0))).toEqual(step(0));
  expect(await readUsedAt(sql, deploymentId, step(1))).toBeNull();
});
