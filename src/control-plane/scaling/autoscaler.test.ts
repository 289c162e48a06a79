import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { SecretBox } from "../../platform/encryption/secret-box.ts";
import { createLogger } from "../../platform/logger.ts";
import { instanceSecretContext } from "../encryption/sealed-columns.ts";
import { saveEndpoints } from "../endpoints/endpoint-store.ts";
import { Autoscaler } from "./autoscaler.ts";

const secretBox = new SecretBox({ currentKey: "a secret key for tests only" });
let test: TestDatabase;
let pod: Server;
let autoscaler: Autoscaler;
let replicas: number;
let scaled: { instanceId: string; to: number; busy: Record<string, number> }[];
/** What every replica says of itself. */
let usage: Record<string, number>;
let asked: Set<string>;

beforeAll(async () => {
  test = await createTestDatabase();
  pod = createServer((request, response) => {
    const { url, headers } = request;
    asked.add(`${url} ${headers["x-treadle-caller"]} ${headers["x-treadle-instance-secret"]}`);
    response.end(JSON.stringify(usage));
  });
  await new Promise<void>((resolve) => pod.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  await new Promise((resolve) => pod?.close(resolve));
  await test?.drop();
});

beforeEach(() => {
  replicas = 1;
  scaled = [];
  asked = new Set();
  usage = { cpu_seconds: 1, memory_bytes: 10_000_000, pending_runs: 0, running_runs: 3 };
});
afterEach(async () => {
  await autoscaler?.stop();
  await raw`delete from deployment_instances`.execute(test.database.sql);
});

async function serving(resources: object): Promise<string> {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  const id = await insertInstance(sql, { deploymentId, revisionId });
  const sealed = secretBox.seal("known to the platform alone", instanceSecretContext(id));
  await raw`update deployment_instances set handle = '{}', secret_sealed = ${sealed} where id = ${id}`.execute(
    sql,
  );
  const build = JSON.stringify({ resource_spec: resources });
  await raw`update revisions set build_config = ${build}::jsonb where id = ${revisionId}`.execute(sql);
  const { port } = pod.address() as AddressInfo;
  await saveEndpoints(
    sql,
    id,
    ["one", "two"].map((name) => ({ name, host: "127.0.0.1", port, ready: true })),
  );
  return id;
}

function start(keepMs = 60_000): void {
  autoscaler = new Autoscaler({
    ...{ database: test.database, clock: systemClock, logger: createLogger({ level: "silent" }), secretBox },
    ...{ defaultMemoryBytes: null, keepMs, everyMs: 10 },
    runtime: { name: "process", replicas: () => replicas },
    supervisor: {
      scale: async (instanceId, to, busy) => {
        scaled.push({ instanceId, to, busy: Object.fromEntries(busy) });
        replicas = to;
        return true;
      },
    },
    fence: { write: (work) => test.database.transaction(work) },
  });
  autoscaler.start();
}

const untilScaled = (count: number) =>
  waitUntil(() => scaled.length >= count, { what: "a change of scale", timeoutMs: 10_000 });

describe("the autoscaler", () => {
  it("adds replicas while runs wait, and takes the idle ones away when they were not needed for a while", async () => {
    const id = await serving({ min_scale: 1, max_scale: 4 });
    usage.pending_runs = 35;
    start(300);
    await untilScaled(1);
    expect(scaled[0]).toEqual({ instanceId: id, to: 4, busy: {} });
    expect([...asked]).toEqual(["/usage?runs platform known to the platform alone"]);
    usage.pending_runs = 0;
    await untilScaled(2);
    expect(scaled[1]).toEqual({ instanceId: id, to: 1, busy: { one: 3, two: 3 } });
    const { rows } = await raw<{ message: string }>`select message from deployment_logs order by id`.execute(
      test.database.sql,
    );
    expect(rows.map(({ message }) => message)).toEqual([
      "Scaled from 1 to 4 replicas. 35 runs wait.",
      "Scaled from 4 to 1 replica.",
    ]);
  });

  it("takes nothing away while a replica does not say what it does", async () => {
    await serving({ min_scale: 1, max_scale: 4 });
    replicas = 3;
    usage = {};
    start(50);
    await waitUntil(() => asked.size > 0, { what: "the first question", timeoutMs: 10_000 });
    usage = { cpu_seconds: 1, memory_bytes: 1, pending_runs: 31, running_runs: 0 };
    await untilScaled(1);
    expect(scaled[0]!.to).toBe(4);
  });

  it("leaves alone what somebody else scales, what has one size, and what is being stopped", async () => {
    await serving({ min_scale: 1, max_scale: 4, scaling: "external" });
    await serving({ min_scale: 2, max_scale: 2 });
    await serving({});
    const stopping = await serving({ min_scale: 1, max_scale: 4 });
    await raw`update deployment_instances set state = 'stopping' where id = ${stopping}`.execute(
      test.database.sql,
    );
    usage.pending_runs = 100;
    const own = await serving({ min_scale: 1, max_scale: 2 });
    start();
    await untilScaled(1);
    expect(scaled).toEqual([{ instanceId: own, to: 2, busy: {} }]);
  });
});
