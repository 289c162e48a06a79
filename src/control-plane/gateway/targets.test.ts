import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";
import { Targets } from "./targets.ts";

type Served = { deploymentId: string; instanceId: string; slug: string };

let test: TestDatabase;
let one: Served;
let other: Served;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  const workspaceId = await insertWorkspace(test.database.sql);
  [one, other] = [await serve(workspaceId), await serve(workspaceId)];
});
afterAll(() => test?.drop());

async function serve(workspaceId: string): Promise<Served> {
  const { sql } = test.database;
  const deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  const instanceId = await insertInstance(sql, { deploymentId, revisionId });
  const { rows } = await raw<{ slug: string }>`
    update deployments set active_revision_id = ${revisionId}, latest_revision_id = ${revisionId}
    where id = ${deploymentId} returning slug`.execute(sql);
  return { deploymentId, instanceId, slug: rows[0]!.slug };
}

const moveTo = (port: number) =>
  raw`update deployment_instances set port = ${port} where id = ${one.instanceId}`.execute(test.database.sql);

describe("while the database is away", () => {
  let database: "answers" | "fails" | "is silent";
  let asked: number;
  let targets: Targets;
  const portOf = async ({ slug }: Served) => (await targets.find(slug))?.instance?.port;

  beforeEach(async () => {
    await moveTo(1);
    database = "answers";
    targets = new Targets({
      database: test.database,
      openSecret: () => "",
      isPresent: () => database === "answers",
      async enter() {
        if (database === "answers") return;
        asked += 1;
        if (database === "is silent") await new Promise(() => {});
        throw new AppError({ code: "database.unavailable", kind: "unavailable", message: "It is away." });
      },
    });
    expect([await portOf(one), await portOf(other)]).toEqual([1, 1]);
    asked = 0;
    database = "fails";
  });

  it("one attempt is enough for all deployments that are known", async () => {
    for (let round = 0; round < 10; round += 1) {
      for (const served of [one, other]) {
        const target = (await targets.find(served.slug))!;
        expect(target.instance?.port).toBe(1);
        expect(targets.isCurrent(served.slug, target)).toBe(true);
      }
    }
    expect(asked).toBe(1);
    await expect(targets.find("unknown")).rejects.toMatchObject({ code: "database.unavailable" });
  });

  it("nobody waits for the attempts that follow", async () => {
    await portOf(one);
    database = "is silent";
    await waitUntil(
      async () => {
        expect([await portOf(one), await portOf(other)]).toEqual([1, 1]);
        return asked === 2;
      },
      { what: "the next attempt", timeoutMs: 10_000 },
    );
    expect([await portOf(one), await portOf(other), asked]).toEqual([1, 1, 2]);
  });

  it("one that took no connection is asked for anew, and all are found anew when it is back", async () => {
    await portOf(other);
    targets.forget(one.deploymentId);
    expect([await portOf(one), asked]).toEqual([1, 2]);
    await moveTo(2);
    database = "answers";
    targets.forget(one.deploymentId);
    expect(await portOf(one)).toBe(2);
  });

  it("that it is back is found without anything being forgotten", async () => {
    await portOf(one);
    await moveTo(3);
    database = "answers";
    targets.forgetAll();
    database = "fails";
    expect(await portOf(one)).toBe(1);
    database = "answers";
    await waitUntil(async () => (await portOf(one)) === 3, { what: "the new place", timeoutMs: 10_000 });
  });
});
