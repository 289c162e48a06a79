import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { raw } from "../../platform/db/raw.ts";
import { saveEndpoints } from "../endpoints/endpoint-store.ts";
import type { Instance } from "../runtimes/instance.ts";
import { noteTrouble } from "../runtimes/trouble-store.ts";
import { healthOf } from "./health.ts";
import { readHealth } from "./health-store.ts";

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test?.drop());

/** A deployment whose active revision has one server. */
async function deployed(runtime: string, state = "ready") {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  const instanceId = await insertInstance(sql, { deploymentId, revisionId, runtime, state });
  await raw`update deployments set active_revision_id = ${revisionId} where id = ${deploymentId}`.execute(
    sql,
  );
  const health = async () => healthOf((await readHealth(sql, [deploymentId]))[0]);
  const pods = (...ready: boolean[]) =>
    test.database.transaction((tx) =>
      saveEndpoints(
        tx,
        instanceId,
        ready.map((each, index) => ({ name: `pod-${index}`, host: "10.0.0.1", port: 1, ready: each })),
      ),
    );
  const instance = { id: instanceId, revision_id: revisionId, deployment_id: deploymentId };
  const trouble = (problem: string) =>
    test.database.transaction((tx) =>
      noteTrouble(tx, { ...instance, started_at: new Date(0) } as Instance, problem, new Date()),
    );
  return { health, pods, trouble, instanceId };
}

describe("the health of a server in a cluster", () => {
  it("is that of its pods: it serves while one of them takes requests", async () => {
    const { health, pods } = await deployed("kubernetes");
    await pods(true, false);
    expect(await health()).toMatchObject({ state: "serving", message: null });
    await pods(false, false);
    const lost = { state: "restarting", message: expect.stringContaining("None of its pods takes requests") };
    expect(await health()).toMatchObject(lost);
    await pods();
    expect(await health()).toMatchObject(lost);
    await pods(true);
    expect(await health()).toMatchObject({ state: "serving", message: null });
  });

  it("says what is wrong with them, once each, until it is over", async () => {
    const { health, pods, trouble, instanceId } = await deployed("kubernetes");
    await pods(true);
    expect(await trouble("")).toBe(false);
    const why = "1 of 2 pods serve; no node takes its pod: 0/3 nodes are available";
    expect([await trouble(why), await trouble(why)]).toEqual([true, false]);
    expect(await health()).toMatchObject({ state: "serving", message: `The server is not well: ${why}.` });
    await pods(false);
    expect(await trouble("the image x cannot be pulled: gone")).toBe(true);
    expect(await health()).toMatchObject({
      state: "restarting",
      message: expect.stringContaining("not well: the image x cannot be pulled: gone. Kubernetes starts"),
    });
    await pods(true);
    expect([await trouble(""), await trouble("")]).toEqual([true, false]);
    expect(await health()).toMatchObject({ state: "serving", message: null });
    // What we stop ourselves has no pods either.
    await raw`update deployment_instances set state = 'stopping' where id = ${instanceId}`.execute(
      test.database.sql,
    );
    expect(await trouble("its pod is not there yet")).toBe(false);
  });

  it("is that of its start before it was ever ready", async () => {
    const { health } = await deployed("kubernetes", "starting");
    expect(await health()).toMatchObject({ state: "starting" });
  });
});

it.each(["process", "docker", "remote"])("a server of the runtime %s needs no endpoint", async (runtime) => {
  const { health } = await deployed(runtime);
  expect(await health()).toMatchObject({ state: "serving" });
});
