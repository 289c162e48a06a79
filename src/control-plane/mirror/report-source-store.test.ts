import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { raw } from "../../platform/db/raw.ts";
import { saveEndpoints } from "../endpoints/endpoint-store.ts";
import { readInstances } from "./report-source-store.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test?.drop());

it("a server has lost its pods when it was ready and none of them is", async () => {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  await raw`update deployments set mirrored = true where id = ${deploymentId}`.execute(sql);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  const made = (runtime: string, state: string) =>
    insertInstance(sql, { deploymentId, revisionId, runtime, state });
  const ids = {
    serving: await made("kubernetes", "ready"),
    lost: await made("kubernetes", "ready"),
    starting: await made("kubernetes", "starting"),
    process: await made("process", "ready"),
  };
  const pod = (ready: boolean) => [{ name: "pod", host: "10.0.0.1", port: 1, ready }];
  await test.database.transaction(async (tx) => {
    await saveEndpoints(tx, ids.serving, pod(true));
    await saveEndpoints(tx, ids.lost, pod(false));
  });
  const lost = (await readInstances(sql)).filter((row) => row.has_lost_pods).map(({ id }) => id);
  expect(lost).toEqual([ids.lost]);
});
