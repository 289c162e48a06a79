import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import {
  insertDeployment,
  insertInstance,
  insertRevision,
  insertWorkspace,
} from "../../../tests/support/deployment-rows.ts";
import {
  createFakeMonotonicClock,
  type FakeMonotonicClock,
} from "../../../tests/support/fake-monotonic-clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { GatewayPresence } from "./gateway-presence.ts";
import { countHeld, findBusyInstances, type Held, markDrained } from "./gateway-store.ts";

let test: TestDatabase;
let deploymentId: string;
let instanceId: string;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  deploymentId = await insertDeployment(sql, workspaceId);
  const revisionId = await insertRevision(sql, { workspaceId, deploymentId });
  instanceId = await insertInstance(sql, { deploymentId, revisionId });
});
beforeEach(async () => {
  await raw`truncate gateways`.execute(test.database.sql);
});
afterAll(() => test?.drop());

function open(clock: FakeMonotonicClock = createFakeMonotonicClock()) {
  const forgotten: (readonly string[] | null)[] = [];
  const gateway = { held: {} as Held };
  const presence = new GatewayPresence({
    ...{ database: test.database, logger: createLogger({ level: "silent" }), clock },
    held: () => gateway.held,
    forget: (ids) => forgotten.push(ids),
  });
  return { presence, forgotten, gateway, clock };
}

const drain = () => test.database.transaction((tx) => markDrained(tx, instanceId));
const isBusy = async () => (await findBusyInstances(test.database.sql, [instanceId])).has(instanceId);
const rows = async () =>
  (await raw<{ held: Held }>`select held from gateways`.execute(test.database.sql)).rows;
const until = (what: string, check: () => Promise<boolean>) => waitUntil(check, { what, timeoutMs: 10_000 });

describe("a gateway", () => {
  it("that has not heard of a drain keeps the server from being stopped; it acknowledges by its beat alone", async () => {
    const { presence, forgotten, clock } = open();
    await presence.enter();
    await drain();
    expect(await isBusy()).toBe(true);
    await clock.advance(4_000);
    await until("the acknowledgement", async () => !(await isBusy()));
    expect(forgotten).toEqual([null, [deploymentId]]);
    await presence.stop();
  });

  it("that is told acknowledges at once", async () => {
    const { presence, forgotten } = open();
    await presence.start();
    await presence.enter();
    await drain();
    await until("the acknowledgement", async () => !(await isBusy()));
    expect(forgotten).toEqual([null, [deploymentId]]);
    await presence.stop();
  });

  it("that enters after a drain has nothing to acknowledge", async () => {
    await drain();
    const { presence } = open();
    await presence.enter();
    expect(await isBusy()).toBe(false);
    await presence.stop();
    expect(await rows()).toEqual([]);
  });

  it("says what it holds, and keeps the server for it", async () => {
    const { presence, gateway, clock } = open();
    await drain();
    await presence.enter();
    gateway.held = { [instanceId]: { main: 2, other: 1 } };
    await clock.advance(1_000);
    await until("what it holds", isBusy);
    expect(await countHeld(test.database.sql, [instanceId], null)).toEqual(new Map([[instanceId, 3]]));
    expect(await countHeld(test.database.sql, [instanceId], presence.id)).toEqual(new Map());
    gateway.held = {};
    await until("that it holds nothing", async () => {
      await clock.advance(1_000);
      return !(await isBusy());
    });
    await presence.stop();
  });

  it("that died keeps no server once its time is over", async () => {
    const { presence, gateway } = open();
    gateway.held = { [instanceId]: { main: 1 } };
    await presence.enter();
    expect(await isBusy()).toBe(true);
    await raw`update gateways set seen_at = now() - interval '15 seconds'`.execute(test.database.sql);
    expect(await isBusy()).toBe(false);
  });

  it("that stood still for longer than its time knows nothing any more", async () => {
    const { presence, forgotten, clock } = open();
    await presence.enter();
    expect(presence.isPresent()).toBe(true);
    const before = presence.id;
    clock.freeze(15_000);
    expect(presence.isPresent()).toBe(false);
    await presence.enter();
    expect(presence.isPresent()).toBe(true);
    expect(presence.id).not.toBe(before);
    expect(forgotten).toEqual([null, null]);
    await presence.stop();
  });

  it("keeps what it knew while the database does not let it in", async () => {
    const { presence, forgotten } = open();
    await raw`alter table gateways rename to gateways_away`.execute(test.database.sql);
    await expect(presence.enter()).rejects.toThrow();
    expect([forgotten, presence.isPresent()]).toEqual([[], false]);
    await raw`alter table gateways_away rename to gateways`.execute(test.database.sql);
    await presence.enter();
    expect([forgotten, presence.isPresent()]).toEqual([[null], true]);
    await presence.stop();
  });

  it("that nobody asks anything costs nothing", async () => {
    const { presence, clock } = open();
    await presence.enter();
    await until("its leave", async () => {
      await clock.advance(1_000);
      return (await rows()).length === 0;
    });
    expect(presence.id).toBeNull();
    expect(clock.nextIn()).toBeNull();
    await presence.stop();
  });
});
