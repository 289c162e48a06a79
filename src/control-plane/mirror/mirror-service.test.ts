import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { createLogger } from "../../platform/logger.ts";
import type { WantedDeployment, WantedState } from "../listener-api/listener-wire.ts";
import { Mirror } from "./mirror-service.ts";

let test: TestDatabase;
let workspaceId: string;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  workspaceId = await insertWorkspace(test.database.sql);
});
afterAll(() => test?.drop());

/** As each process of the listener has one. `asking` is done while it waits for the platform. */
function openMirror(asking: () => Promise<void> = async () => {}): Mirror {
  return new Mirror({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }) },
    secretBox: new SecretBox({ currentKey: "a secret key for tests only" }),
    client: {
      secretsOf: async () => {
        await asking();
        return { secrets: [], tracing: null };
      },
    },
    ...{ workspaceId, purgeAfterMs: 3_600_000 },
  });
}

function wantedDeployment(): WantedDeployment {
  const id = randomUUID();
  const revision = {
    ...{ id: randomUUID(), number: 1, source: "github" as const, repo_commit_sha: null, redeploy_of: null },
    ...{ image_reference: null, image_digest: null },
    source_revision_config: {
      ...{
        repo_ref: "main",
        graph_config_path: "langgraph.json",
        image_uri: null,
        source_tarball_path: null,
      },
    },
    build_config: {
      ...{ repo_url: "http://127.0.0.1:9/x.git", integration_id: null, install_command: null },
      ...{ build_command: null, resource_spec: null },
    },
  };
  return {
    ...{ id, name: `d-${id}`, slug: `d-${id}`, source: "github", desired_state: "running" },
    ...{ restart_requested_at: null, tracing_key_id: null, revisions: [revision] },
  };
}

const stateOf = (...deployments: WantedDeployment[]): WantedState => ({
  ...{ version: randomUUID(), deployments, deleted: [] },
});

async function row(id: string) {
  const { rows } = await raw<{ deleted: boolean; desired_state: string; status: string }>`
    select d.deleted_at is not null as deleted, d.desired_state, r.status
    from deployments d join revisions r on r.deployment_id = d.id where d.id = ${id}`.execute(
    test.database.sql,
  );
  return rows[0];
}

it("an answer that a process still holds from an earlier lease is not written any more", async () => {
  const [first, second] = [openMirror(), openMirror()];
  const deployment = wantedDeployment();
  await first.begin(1);
  expect(await first.follow(stateOf(deployment))).toBe(true);
  await second.begin(2);
  // Before the second has written anything, and after.
  const nothing = stateOf();
  await expect(first.follow(nothing)).rejects.toMatchObject({ code: "listener.lease_lost" });
  expect(await second.follow(stateOf({ ...deployment, desired_state: "stopped" }))).toBe(true);
  await expect(first.follow(stateOf(deployment))).rejects.toMatchObject({ code: "listener.lease_lost" });
  expect(await row(deployment.id)).toMatchObject({ deleted: false, desired_state: "stopped" });
  await first.begin(3);
  await expect(second.follow(nothing)).rejects.toMatchObject({ code: "listener.lease_lost" });
  expect(await first.follow(nothing)).toBe(true);
  expect(await row(deployment.id)).toMatchObject({ deleted: true });
});

it("begins also with a lower epoch: a platform that was restored counts from earlier", async () => {
  const mirror = openMirror();
  await mirror.begin(9);
  await mirror.begin(4);
  expect(await mirror.follow(stateOf())).toBe(true);
});

it("revives what is wanted again, and begins again what the removal has interrupted", async () => {
  const { sql } = test.database;
  const mirror = openMirror();
  const deployment = wantedDeployment();
  await mirror.begin(1);
  await mirror.follow(stateOf(deployment));
  await mirror.follow(stateOf());
  await raw`update revisions set status = 'INTERRUPTED' where deployment_id = ${deployment.id}`.execute(sql);
  expect(await row(deployment.id)).toMatchObject({ deleted: true });
  expect(await mirror.follow(stateOf({ ...deployment, desired_state: "stopped" }))).toBe(true);
  expect(await row(deployment.id)).toEqual({ deleted: false, desired_state: "stopped", status: "QUEUED" });
  const { rows } = await raw`select purge_after from deployments where id = ${deployment.id}`.execute(sql);
  expect(rows).toEqual([{ purge_after: null }]);
});

it("begins again also what is interrupted while the platform is asked", async () => {
  const { sql } = test.database;
  let interrupting = async () => {};
  const mirror = openMirror(() => interrupting());
  const deployment = wantedDeployment();
  const [first] = deployment.revisions;
  await mirror.begin(1);
  await mirror.follow(stateOf(deployment));
  await mirror.follow(stateOf());
  // As the reconciler does with what is deleted.
  interrupting = async () => {
    await raw`update revisions set status = 'INTERRUPTED' where id = ${first!.id}`.execute(sql);
  };
  const second = { ...first!, id: randomUUID(), number: 2 };
  expect(await mirror.follow(stateOf({ ...deployment, revisions: [first!, second] }))).toBe(true);
  const { rows } = await raw`select number, status from revisions where deployment_id = ${deployment.id}
    order by number`.execute(sql);
  expect(rows).toEqual([
    { number: 1, status: "QUEUED" },
    { number: 2, status: "QUEUED" },
  ]);
});

it("lets go what is being removed, and takes it over anew when it has gone", async () => {
  const { sql } = test.database;
  const mirror = openMirror();
  const deployment = wantedDeployment();
  await mirror.begin(1);
  await mirror.follow(stateOf(deployment));
  await mirror.follow(stateOf());
  await raw`update deployments set purge_after = now() + interval '5 seconds' where id = ${deployment.id}`.execute(
    sql,
  );
  expect(await mirror.follow(stateOf(deployment))).toBe(false);
  const { rows } = await raw`select 1 from deployments where id = ${deployment.id} and deleted_at is not null
    and purge_after <= now()`.execute(sql);
  expect(rows).toHaveLength(1);
  await raw`delete from deployments where id = ${deployment.id}`.execute(sql);
  expect(await mirror.follow(stateOf(deployment))).toBe(true);
  expect(await row(deployment.id)).toMatchObject({ deleted: false, status: "CREATING" });
});
