import { stat } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { ScriptedRuntime } from "../../../tests/support/scripted-runtime.ts";
import { addresses, SupervisorGround } from "../../../tests/support/supervisor-ground.ts";
import { raw } from "../../platform/db/raw.ts";
import { leaseOver } from "../desired-state/reconcile-fence.ts";
import { listEndpoints } from "../endpoints/endpoint-store.ts";
import { exitedWith } from "./exit.ts";
import type { Instance } from "./instance.ts";
import type { SupervisorOptions } from "./supervisor.ts";

let ground: SupervisorGround;
/** As the fence does when another process has the lease. */
let refuseWrites = false;

beforeAll(async () => {
  ground = await SupervisorGround.create();
});
afterAll(() => ground?.remove());

function open(runtime = new ScriptedRuntime(), startsAtOnce = 2) {
  const lease = new AbortController();
  const fence: SupervisorOptions["fence"] = {
    signal: lease.signal,
    async write(work) {
      if (refuseWrites) throw leaseOver();
      return ground.test.database.transaction(work);
    },
  };
  // No turn ends by itself here.
  return { ...ground.open(fence, runtime, { startsAtOnce, startTurnMs: 3_600_000 }), lease };
}

const newest = () => ground.newest();
const inState = (id: string, state: string) => ground.inState(id, state, 20_000);
const launch = (opened: ReturnType<typeof open>) => ground.launch(opened);

describe("a start", () => {
  it("ends with the lease: what it has begun is left to the next holder", async () => {
    const opened = open();
    opened.runtime.beforeStart = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        opened.lease.abort(leaseOver());
      });
    await expect(opened.supervisor.launch(ground.spec)).rejects.toMatchObject({
      code: "deployment.lease_lost",
    });
    expect(await newest()).toMatchObject({ state: "starting", handle: null });
    expect(opened.runtime.started).toEqual([]);
    expect(opened.changes).toEqual([]);
  });

  it("is written down before the server exists, with its secret sealed", async () => {
    const opened = open();
    let before: Instance | undefined;
    opened.runtime.beforeStart = async () => {
      before = await newest();
    };
    const server = await launch(opened);
    expect(before).toMatchObject({
      id: server.instanceId,
      state: "starting",
      port: server.port,
      handle: null,
    });
    expect(JSON.stringify(before)).not.toContain(server.environment.SECRET);
    opened.runtime.end(server.instanceId, exitedWith(0));
    await inState(server.instanceId, "exited");
  });

  it("begins with as many replicas as the server before it has, and one that is stopped gets no more", async () => {
    const opened = open();
    const first = await launch(opened);
    await opened.runtime.announce(first);
    await opened.runtime.serve(first);
    await inState(first.instanceId, "ready");
    expect(await opened.supervisor.scale(first.instanceId, 4, new Map())).toBe(true);
    const second = await launch(opened);
    expect([first.replicasBefore, second.replicasBefore]).toEqual([0, 4]);
    opened.runtime.obedient = false;
    await Promise.all([
      opened.supervisor.stop(first.instanceId),
      opened.supervisor.scale(first.instanceId, 5, new Map()),
    ]);
    expect(opened.runtime.scaled.get(first.instanceId)).toBe(4);
    await opened.supervisor.stopAll(0);
    await inState(second.instanceId, "exited");
  });

  it("that fails is an end with its reason", async () => {
    const opened = open();
    opened.runtime.beforeStart = async () => {
      throw new Error("no such image");
    };
    await opened.supervisor.launch(ground.spec);
    expect(await newest()).toMatchObject({
      ...{ state: "exited", exit_kind: "not_started", exit_detail: "no such image" },
    });
    expect(opened.changes).toEqual([ground.spec.deploymentId]);
  });

  it("is ready when the server has announced its graphs and is healthy, not before", async () => {
    const opened = open();
    const server = await launch(opened);
    await waitUntil(
      async () => opened.supervisor.lastProbe(server.instanceId) === "nothing listens on its port yet",
      { what: "a probe", timeoutMs: 20_000 },
    );
    await opened.runtime.announce(server);
    await waitUntil(async () => (await newest()).announced !== null, {
      what: "its graphs",
      timeoutMs: 20_000,
    });
    expect((await newest()).state).toBe("starting");
    const endpoint = { name: "main", host: "127.0.0.1", port: server.port };
    const endpoints = () => listEndpoints(ground.test.database.sql, server.instanceId);
    expect(await endpoints()).toEqual([{ ...endpoint, ready: false }]);
    await opened.runtime.serve(server);
    expect(await inState(server.instanceId, "ready")).toMatchObject({ announced: { graphs: ["agent"] } });
    expect(await endpoints()).toEqual([{ ...endpoint, ready: true }]);
    expect(opened.supervisor.lastProbe(server.instanceId)).toBe("");
    opened.runtime.end(server.instanceId, exitedWith(0));
    await inState(server.instanceId, "exited");
    expect(await endpoints()).toEqual([]);
  });

  it("that has to wait tells the revision why, each reason once", async () => {
    const problems = [
      "its pod is not there yet",
      "its pod is not there yet",
      "no node takes its pod: no room.",
    ];
    class WaitingRuntime extends ScriptedRuntime {
      async *observe() {
        for (const problem of problems) yield { endpoints: [], ready: false, problem };
      }
    }
    const { sql } = ground.test.database;
    await raw`update revisions set status = 'DEPLOYING' where id = ${ground.spec.revisionId}`.execute(sql);
    const opened = open(new WaitingRuntime());
    const server = await launch(opened);
    const told = async () => {
      const { rows } = await raw<{ message: string }>`select message from revision_events
        where revision_id = ${ground.spec.revisionId} and kind = 'waiting' order by id`.execute(sql);
      return rows.map(({ message }) => message);
    };
    await waitUntil(async () => (await told()).length >= 2, { what: "both reasons", timeoutMs: 20_000 });
    expect(await told()).toEqual([
      "Starting the server: its pod is not there yet.",
      "Starting the server: no node takes its pod: no room.",
    ]);
    await raw`update revisions set status = 'DEPLOYED' where id = ${ground.spec.revisionId}`.execute(sql);
    opened.runtime.end(server.instanceId, exitedWith(0));
    await inState(server.instanceId, "exited");
  });

  it("whose server was released leaves its turn to the next", async () => {
    const opened = open(new ScriptedRuntime(), 1);
    const first = await launch(opened);
    await opened.supervisor.release();
    const second = await launch(opened);
    expect(second.instanceId).not.toBe(first.instanceId);
    for (const { instanceId } of [first, second]) opened.runtime.end(instanceId, exitedWith(0));
    await inState(second.instanceId, "exited");
    await open().supervisor.adopt(async () => null);
  });

  it("with a graph that cannot be used is never ready", async () => {
    const opened = open();
    const server = await launch(opened);
    await opened.runtime.serve(server);
    await opened.runtime.announce(server, { agent: "it does not load" });
    const reported = { broken: { agent: "it does not load" } };
    await waitUntil(async () => (await newest()).announced !== null, {
      what: "its graphs",
      timeoutMs: 20_000,
    });
    expect(await newest()).toMatchObject({ state: "starting", announced: reported });
    opened.runtime.end(server.instanceId, exitedWith(0));
    await inState(server.instanceId, "exited");
  });

  it("waits for its turn, and does not begin after a halt", async () => {
    const opened = open(new ScriptedRuntime(), 1);
    const first = await launch(opened);
    const second = opened.supervisor.launch(ground.spec);
    opened.supervisor.halt();
    await second;
    expect(opened.runtime.started).toEqual([first]);
    opened.runtime.end(first.instanceId, exitedWith(0));
    await inState(first.instanceId, "exited");
  });
});

describe("an end", () => {
  it("is recorded as the runtime reports it, and its folder is gone", async () => {
    const opened = open();
    const server = await launch(opened);
    opened.runtime.end(server.instanceId, exitedWith(3));
    expect(await inState(server.instanceId, "exited")).toMatchObject({
      exit_kind: "exit_code",
      exit_detail: "3",
    });
    await expect(stat(server.instanceFolder)).rejects.toMatchObject({ code: "ENOENT" });
    await waitUntil(async () => opened.changes.length > 0, { what: "the change", timeoutMs: 20_000 });
  });

  it("that was asked for is a stop, however the server ends", async () => {
    const opened = open();
    const server = await launch(opened);
    await opened.supervisor.stop(server.instanceId);
    expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_kind: "stopped" });
  });

  it("of all: those that do not stop within the grace are killed", async () => {
    const opened = open();
    opened.runtime.obedient = false;
    const servers = [await launch(opened), await launch(opened)];
    await opened.supervisor.stopAll(50);
    expect(opened.runtime.asked).toEqual(["stop", "stop", "kill", "kill"]);
    for (const { instanceId } of servers) {
      expect(await inState(instanceId, "exited")).toMatchObject({ exit_kind: "stopped" });
    }
  });
});

describe("after a restart of the platform", () => {
  it("a server that runs with the same addresses is kept and watched", async () => {
    const before = open();
    const server = await launch(before);
    const after = open(before.runtime);
    await after.supervisor.adopt(async () => ({ addresses, secrets: [] }));
    expect(before.runtime.asked).toEqual([]);
    before.runtime.end(server.instanceId, exitedWith(5));
    expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_detail: "5" });
    await waitUntil(async () => after.changes.length > 0, { what: "the change", timeoutMs: 20_000 });
  });

  it.each(["ready", "draining"])(
    "a %s server gets requests, whatever an earlier version wrote",
    async (state) => {
      const before = open();
      const server = await launch(before);
      await before.supervisor.release();
      await raw`update deployment_instances set state = ${state}, drain_since = now() where id = ${server.instanceId}`.execute(
        ground.test.database.sql,
      );
      expect(await listEndpoints(ground.test.database.sql, server.instanceId)).toMatchObject([
        { ready: false },
      ]);
      await open(before.runtime).supervisor.adopt(async () => ({ addresses, secrets: [] }));
      expect(await listEndpoints(ground.test.database.sql, server.instanceId)).toMatchObject([
        { ready: true },
      ]);
      before.runtime.end(server.instanceId, exitedWith(0));
      await inState(server.instanceId, "exited");
    },
  );

  it.each([
    ["with other addresses", { addresses: { ...addresses, own: "http://moved" }, secrets: [] }],
    ["that nobody wants", null],
  ])("a server %s is ended", async (_which, wanted) => {
    const before = open();
    const server = await launch(before);
    // The platform before is gone: it records nothing any more.
    await before.supervisor.release();
    await open(before.runtime).supervisor.adopt(async () => wanted);
    expect(before.runtime.asked).toEqual(["kill"]);
    expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_kind: "stopped" });
  });

  it("a server that was released is left as it is, and found again by whoever has the lease next", async () => {
    const first = open();
    const server = await launch(first);
    await first.supervisor.release();
    expect(await first.supervisor.usages()).toEqual([]);
    const second = open(first.runtime);
    await second.supervisor.adopt(async () => ({ addresses, secrets: [] }));
    expect(first.runtime.asked).toEqual([]);
    first.runtime.end(server.instanceId, exitedWith(7));
    expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_detail: "7" });
    await waitUntil(async () => second.changes.length > 0, { what: "the change", timeoutMs: 20_000 });
  });

  it("the end of a server that was released is not recorded", async () => {
    const first = open();
    const server = await launch(first);
    await first.supervisor.release();
    first.runtime.end(server.instanceId, exitedWith(7));
    await waitUntil(async () => first.changes.length > 0, { what: "its end", timeoutMs: 20_000 });
    expect(await newest()).toMatchObject({ id: server.instanceId, state: "starting" });
    await open().supervisor.adopt(async () => null);
  });

  it("a server whose start was given up meanwhile is ended by whoever started it", async () => {
    const late = open();
    late.runtime.beforeStart = async () => {
      // Another process has taken over, found no server for this row, and closed it.
      await open().supervisor.adopt(async () => null);
      refuseWrites = true;
    };
    await expect(late.supervisor.launch(ground.spec)).rejects.toMatchObject({
      code: "deployment.lease_lost",
    });
    refuseWrites = false;
    expect(late.runtime.asked).toEqual(["kill"]);
    expect(await newest()).toMatchObject({ state: "exited", exit_kind: "lost" });
  });

  it("a server that is gone was lost", async () => {
    const before = open();
    const server = await launch(before);
    // A new runtime object has no record of it, as after a restart of the machine.
    await open().supervisor.adopt(async () => ({ addresses, secrets: [] }));
    expect(await inState(server.instanceId, "exited")).toMatchObject({ exit_kind: "lost" });
    before.runtime.end(server.instanceId, exitedWith(0));
  });
});
