import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ReconcileFence } from "../../src/control-plane/desired-state/reconcile-fence.ts";
import { dropLease, takeLease } from "../../src/control-plane/reconciler/reconcile-lease-store.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const childScript = fileURLToPath(new URL("../support/reconcile-child.ts", import.meta.url));
const leaseMs = 1_000;
let test: TestDatabase;
const children: ChildProcess[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 4 });
  await raw`create table written (name text, tenure text, at timestamptz default clock_timestamp())`.execute(
    test.database.sql,
  );
});
beforeEach(async () => {
  await raw`truncate written, control_plane_lease`.execute(test.database.sql);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop()));
});
afterAll(() => test?.drop());

const owner = (token: string) => ({ owner: token, host: "a machine", pid: 1, pidStarted: "then" });

async function writers(): Promise<string[]> {
  const { rows } = await raw<{ name: string }>`select name from written order by at`.execute(
    test.database.sql,
  );
  return rows.map(({ name }) => name);
}

/** A process that believes that it has the lease, whatever the clock says. */
function believer(token: string): ReconcileFence {
  const fence = new ReconcileFence(test.database);
  fence.enter({ token, requireLease: () => {}, leaseMs, signal: new AbortController().signal });
  return fence;
}

const write = (fence: ReconcileFence, name: string) =>
  fence.write((tx) => raw`insert into written (name) values (${name})`.execute(tx));

describe("a write about deployments", () => {
  it("is refused once somebody else has the lease, though the writer believes that it is still its own", async () => {
    const { sql } = test.database;
    const [first, second] = [believer("first"), believer("second")];
    await takeLease(sql, owner("first"), null, leaseMs);
    await write(first, "first");
    expect(await takeLease(sql, owner("second"), "first", leaseMs)).toBe(true);
    await expect(write(first, "late")).rejects.toMatchObject({ code: "deployment.lease_lost" });
    await write(second, "second");
    expect(await writers()).toEqual(["first", "second"]);
  });

  it("is refused when the lease was given up", async () => {
    const { sql } = test.database;
    await takeLease(sql, owner("first"), null, leaseMs);
    await dropLease(sql, "first");
    await expect(write(believer("first"), "late")).rejects.toMatchObject({ code: "deployment.lease_lost" });
  });

  it("that stands still is cut off by the database: the next one waits for it no longer than a lease", async () => {
    const { sql } = test.database;
    await takeLease(sql, owner("first"), null, leaseMs);
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const late = believer("first").write(async (tx) => {
      await raw`insert into written (name) values ('late')`.execute(tx);
      begun.resolve();
      await gate.promise;
    });
    const ended = late.then(
      () => "committed",
      () => "refused",
    );
    await begun.promise;
    expect(await takeLease(sql, owner("second"), "first", leaseMs)).toBe(true);
    gate.resolve();
    expect(await ended).toBe("refused");
    expect(await writers()).toEqual([]);
  });
});

describe("two processes", () => {
  const spawn = async (name: string) => {
    const args = [childScript, test.url, name, String(leaseMs)];
    const child = spawnProcess(process.execPath, args, { name });
    children.push(child);
    await child.waitForLine(/^ready/m, 60_000);
    return child;
  };

  it("of which the leader is stopped beyond its lease: nothing it writes comes after the next one took over", async () => {
    const first = await spawn("first");
    await first.waitForLine(/^taken/m, 20_000);
    await waitUntil(async () => (await writers()).length > 5, { what: "its writes", timeoutMs: 20_000 });
    const second = await spawn("second");
    for (let round = 0; round < 3; round += 1) {
      const [leader, other] = round % 2 === 0 ? [first, second] : [second, first];
      const took = (child: ChildProcess) =>
        child
          .output()
          .split("\n")
          .filter((line) => line === "taken").length;
      const before = took(other);
      leader.signal("SIGSTOP");
      await waitUntil(async () => took(other) > before, { what: "the takeover", timeoutMs: 20_000 });
      const lost = () =>
        leader
          .output()
          .split("\n")
          .filter((line) => line === "lost").length;
      const lostBefore = lost();
      leader.signal("SIGCONT");
      const writes = (await writers()).length;
      await waitUntil(async () => (await writers()).length > writes + 5, {
        what: "the writes of the next one",
        timeoutMs: 20_000,
      });
      await waitUntil(async () => lost() > lostBefore, { what: "the loss", timeoutMs: 20_000 });
    }
    const names = await writers();
    const turns = names.filter((name, index) => name !== names[index - 1]);
    expect(turns).toEqual(["first", "second", "first", "second"]);
  }, 120_000);
});
