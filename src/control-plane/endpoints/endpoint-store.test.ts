import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { deploymentChannel } from "../desired-state/revision-store.ts";
import { authorityOf, endpointsOf } from "./endpoint.ts";
import { listEndpoints, markEndpointsReady, removeEndpoints, saveEndpoints } from "./endpoint-store.ts";

let test: TestDatabase;
let deploymentId: string;
let instanceId: string;
const first = { name: "pod-a", host: "10.0.0.1", port: 8000, ready: true };
const second = { name: "pod-b", host: "10.0.0.2", port: 8000, ready: false };

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  instanceId = await insertInstance(sql, { deploymentId, revisionId });
});
afterAll(() => test?.drop());

const save = (...endpoints: (typeof first)[]) =>
  test.database.transaction((tx) => saveEndpoints(tx, instanceId, endpoints));

describe("endpoints of an instance", () => {
  it("are what was saved last, and gateways hear of a change and of nothing else", async () => {
    const heard: string[] = [];
    const changed = Promise.withResolvers<void>();
    const stop = await test.database.listen(deploymentChannel, (id) => {
      heard.push(id);
      if (heard.length === 3) changed.resolve();
    });
    expect(await save(first, second)).toBe(true);
    expect(await save(first, second)).toBe(false);
    expect(await save(first, { ...second, ready: true })).toBe(true);
    expect(await save({ ...second, ready: true })).toBe(true);
    expect(await listEndpoints(test.database.sql, instanceId)).toEqual([{ ...second, ready: true }]);
    await changed.promise;
    expect(heard).toEqual([deploymentId, deploymentId, deploymentId]);
    await stop();
  });

  it("become ready together, and go", async () => {
    await save(second);
    await markEndpointsReady(test.database.sql, instanceId);
    expect(await listEndpoints(test.database.sql, instanceId)).toEqual([{ ...second, ready: true }]);
    await removeEndpoints(test.database.sql, instanceId);
    expect(await listEndpoints(test.database.sql, instanceId)).toEqual([]);
  });

  it("are on loopback where an earlier version wrote none down", () => {
    expect(endpointsOf([], 4000)).toMatchObject([{ host: "127.0.0.1", port: 4000, ready: true }]);
    expect(endpointsOf([second], 4000)).toEqual([second]);
  });

  it("stand in a URL as an address does", () => {
    expect([first, { host: "fd00::1", port: 80 }].map(authorityOf)).toEqual([
      "10.0.0.1:8000",
      "[fd00::1]:80",
    ]);
  });
});
