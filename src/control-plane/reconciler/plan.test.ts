import { describe, expect, it } from "vitest";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision, RevisionStatus } from "../desired-state/revision.ts";
import type { Instance, InstanceState } from "../runtimes/instance.ts";
import { backoffMs, heldText, type Observed, plan } from "./plan.ts";
import { noSleepFacts } from "./sleep-plan.ts";

const now = new Date("2026-01-01T12:00:00Z");
const ago = (ms: number) => new Date(now.getTime() - ms);
const limits = {
  ...{
    healthMs: 60_000,
    drainMs: 30_000,
    bakeMs: 5_000,
    rollbackMs: 20_000,
    stopMs: 10_000,
    provenMs: 600_000,
    sleepAfterMs: null,
  },
};

function revision(number: number, status: RevisionStatus, more: Partial<Revision> = {}): Revision {
  return { id: `r${number}`, number, status, source: "github", condition: null, ...more } as Revision;
}

function instance(revisionId: string, state: InstanceState, more: Partial<Instance> = {}): Instance {
  return {
    ...{
      id: `i-${revisionId}`,
      revision_id: revisionId,
      state,
      attempt: 1,
      announced: null,
      started_at: ago(1_000),
    },
    ...{
      ready_at: null,
      drain_since: null,
      stop_since: null,
      exited_at: null,
      exit_kind: null,
      exit_detail: null,
    },
    ...more,
  } as Instance;
}

function look(more: Partial<Omit<Observed, "deployment">> & { deployment?: Partial<Deployment> } = {}) {
  const { deployment, ...rest } = more;
  return plan({
    ...{ now, limits, revisions: [], instances: [], building: new Set<string>() },
    outdated: new Set<string>(),
    busy: new Set(),
    sleep: noSleepFacts,
    ...rest,
    deployment: {
      ...{ id: "d", deleted_at: null, active_revision_id: null, previous_revision_id: null },
      ...{ switched_at: null, database_ready: true, desired_state: "running", restart_requested_at: null },
      sleep_state: "awake",
      ...deployment,
    } as Deployment,
  });
}

describe("the queue", () => {
  it("admits the newest and skips what it overtakes", () => {
    const { operations } = look({
      revisions: [revision(1, "CREATING"), revision(2, "QUEUED"), revision(3, "QUEUED")],
    });
    expect(operations).toEqual([
      { kind: "skip", revisionId: "r1", newerNumber: 3 },
      { kind: "skip", revisionId: "r2", newerNumber: 3 },
      { kind: "admit", revisionId: "r3", status: "AWAITING_BUILD" },
    ]);
  });

  it("lets what is on its way finish first", () => {
    const revisions = [revision(1, "BUILDING"), revision(2, "QUEUED")];
    expect(look({ revisions, building: new Set(["r1"]) }).operations).toEqual([]);
  });

  it("takes images to the deploy without a build", () => {
    const { operations } = look({ revisions: [revision(1, "CREATING", { source: "external_docker" })] });
    expect(operations).toEqual([{ kind: "admit", revisionId: "r1", status: "AWAITING_DEPLOY" }]);
  });

  it("has built what is not being built, also when a build got lost", () => {
    for (const status of ["AWAITING_BUILD", "BUILDING"] as const) {
      const revisions = [revision(1, status)];
      expect(look({ revisions }).operations).toEqual([{ kind: "build", revisionId: "r1" }]);
      expect(look({ revisions, building: new Set(["r1"]) })).toEqual({ operations: [], lookAgainMs: null });
    }
  });
});

describe("a deploy", () => {
  const revisions = [revision(1, "DEPLOYING")];

  it("makes the database first", () => {
    const waiting = [revision(1, "AWAITING_DEPLOY")];
    const kindOf = (ready: boolean) =>
      look({ revisions: waiting, deployment: { database_ready: ready } }).operations[0]?.kind;
    expect([kindOf(false), kindOf(true)]).toEqual(["provision", "begin_deploy"]);
  });

  it("starts, waits for health, then switches", () => {
    expect(look({ revisions }).operations).toEqual([{ kind: "start", revisionId: "r1", attempt: 1 }]);
    expect(look({ revisions, instances: [instance("r1", "starting")] })).toEqual({
      operations: [],
      lookAgainMs: 59_000,
    });
    expect(look({ revisions, instances: [instance("r1", "ready")] }).operations).toEqual([
      { kind: "switch", revisionId: "r1", instanceId: "i-r1" },
    ]);
  });

  it("fails when the server dies, cannot load a graph, or takes too long", () => {
    const died = instance("r1", "exited", { exit_kind: "exit_code", exit_detail: "1", exited_at: now });
    const broken = instance("r1", "starting", { announced: { graphs: [], broken: { a: "no" } } });
    const slow = instance("r1", "starting", { started_at: ago(60_000) });
    for (const one of [died, broken, slow])
      expect(look({ revisions, instances: [one] }).operations[0]?.kind).toBe("fail");
  });

  it("tries another port, and starts again what we stopped ourselves", () => {
    const clash = instance("r1", "exited", { exit_kind: "port_taken", exited_at: now });
    expect(look({ revisions, instances: [clash] }).operations).toEqual([
      { kind: "start", revisionId: "r1", attempt: 2 },
    ]);
    expect(look({ revisions, instances: [{ ...clash, attempt: 4 }] }).operations[0]?.kind).toBe("fail");
    const stopped = instance("r1", "exited", { exit_kind: "stopped", exited_at: now });
    expect(look({ revisions, instances: [stopped] }).operations[0]?.kind).toBe("start");
  });
});

describe("what serves", () => {
  const revisions = [revision(1, "DEPLOYED"), revision(2, "DEPLOYED")];
  const deployment = { active_revision_id: "r2", previous_revision_id: "r1", switched_at: ago(5_000) };
  const died = (more: Partial<Instance> = {}) =>
    instance("r2", "exited", { exit_kind: "exit_code", exit_detail: "1", exited_at: ago(1_000), ...more });

  it("is left alone while it runs", () => {
    expect(look({ revisions, deployment, instances: [instance("r2", "ready")] }).operations).toEqual([]);
  });

  it("is replaced by the previous revision when it exits right after the switch", () => {
    const { operations } = look({ revisions, deployment, instances: [died()] });
    expect(operations).toMatchObject([{ kind: "roll_back", revisionId: "r2", toRevisionId: "r1" }]);
  });

  it("starts again with growing pauses when it dies later", () => {
    const later = { ...deployment, switched_at: ago(3_600_000) };
    const first = look({ revisions, deployment: later, instances: [died()] });
    expect(first.operations).toEqual([{ kind: "start", revisionId: "r2", attempt: 2 }]);
    const fifth = look({ revisions, deployment: later, instances: [died({ attempt: 5 })] });
    expect(fifth).toEqual({ operations: [], lookAgainMs: backoffMs(5) - 1_000 });
    const proven = died({ attempt: 5, started_at: ago(700_000) });
    expect(look({ revisions, deployment: later, instances: [proven] }).operations).toMatchObject([
      { attempt: 1 },
    ]);
  });

  it("takes a draining server of its own back", () => {
    const draining = instance("r2", "draining", { drain_since: ago(100) });
    expect(look({ revisions, deployment, instances: [draining] }).operations).toEqual([
      { kind: "undrain", instanceId: "i-r2" },
    ]);
  });
});

describe("a server whose tracing key was replaced", () => {
  const revisions = [revision(1, "DEPLOYED")];
  const deployment = { active_revision_id: "r1", switched_at: ago(3_600_000) };
  const old = instance("r1", "ready", { id: "old", started_at: ago(600_000) });
  const outdated = new Set(["old"]);
  const next = (state: InstanceState, more: Partial<Instance> = {}) =>
    instance("r1", state, { id: "new", ...more });
  const see = (instances: Instance[], more: Parameters<typeof look>[0] = {}) =>
    look({ revisions, deployment, outdated, instances, ...more });

  it("serves until another one is ready, then hands over and ends", () => {
    expect(see([old]).operations).toEqual([
      { kind: "renew", revisionId: "r1", attempt: 1, because: "tracing_key" },
    ]);
    expect(see([old, next("starting")])).toEqual({ operations: [], lookAgainMs: 59_000 });
    expect(see([old, next("ready")]).operations).toEqual([
      { kind: "hand_over", revisionId: "r1", instanceId: "old" },
    ]);
    const handedOver = (ms: number): Instance => ({ ...old, state: "draining", drain_since: ago(ms) });
    expect(see([handedOver(1_000), next("ready")]).operations).toEqual([]);
    expect(see([handedOver(5_000), next("ready")]).operations).toEqual([{ kind: "stop", instanceId: "old" }]);
  });

  it("serves again when the other one dies, and tries with growing pauses", () => {
    const dead = next("exited", {
      exit_kind: "exit_code",
      exit_detail: "1",
      exited_at: ago(100),
      attempt: 3,
    });
    const draining: Instance = { ...old, state: "draining", drain_since: ago(1_000) };
    expect(see([draining, dead]).operations).toEqual([{ kind: "undrain", instanceId: "old" }]);
    expect(see([old, dead])).toEqual({ operations: [], lookAgainMs: backoffMs(3) - 100 });
    const long = { ...dead, exited_at: ago(backoffMs(3)) };
    expect(see([old, long]).operations).toEqual([
      { kind: "renew", revisionId: "r1", attempt: 4, because: "tracing_key" },
    ]);
  });

  it("keeps its place when the other one does not become healthy", () => {
    const slow = next("starting", { started_at: ago(60_000) });
    expect(see([old, slow]).operations).toEqual([{ kind: "stop", instanceId: "new" }]);
    const stopping = next("stopping", { stop_since: ago(100) });
    expect(see([old, stopping]).operations).toEqual([]);
  });

  it("is left to a revision that is being deployed, whose server has the new key", () => {
    const both = [revision(1, "DEPLOYED"), revision(2, "DEPLOYING")];
    const { operations } = see([old, instance("r2", "starting")], { revisions: both });
    expect(operations).toEqual([]);
  });
});

describe("a stopped deployment", () => {
  const deployment = { desired_state: "stopped" as const, active_revision_id: "r1" };
  const revisions = [revision(1, "DEPLOYED")];

  it("lets its server finish, asks it to end, and ends one that does not", () => {
    const ready = look({ deployment, revisions, instances: [instance("r1", "ready")] });
    expect(ready.operations).toEqual([{ kind: "drain", instanceId: "i-r1" }]);
    const draining = (ms: number, busy: string[]) =>
      look({
        ...{ deployment, revisions, busy: new Set(busy) },
        instances: [instance("r1", "draining", { drain_since: ago(ms) })],
      });
    expect(draining(1_000, ["i-r1"])).toEqual({ operations: [], lookAgainMs: 250 });
    for (const over of [draining(0, []), draining(30_000, ["i-r1"])])
      expect(over.operations).toEqual([{ kind: "stop", instanceId: "i-r1" }]);
    const stopping = (ms: number) =>
      look({ deployment, revisions, instances: [instance("r1", "stopping", { stop_since: ago(ms) })] });
    expect(stopping(1_000)).toEqual({ operations: [], lookAgainMs: 9_000 });
    expect(stopping(10_000).operations).toEqual([{ kind: "kill", instanceId: "i-r1" }]);
  });

  it("starts nothing, whatever its server ended with", () => {
    const ends = ["stopped", "exit_code"] as const;
    for (const exit_kind of ends) {
      const instances = [instance("r1", "exited", { exit_kind, exited_at: ago(60_000) })];
      expect(look({ deployment, revisions, instances })).toEqual({ operations: [], lookAgainMs: null });
    }
  });

  it("builds what is new, and holds it until it is started", () => {
    const building = [...revisions, revision(2, "AWAITING_BUILD")];
    expect(look({ deployment, revisions: building }).operations).toEqual([
      { kind: "build", revisionId: "r2" },
    ]);
    for (const status of ["AWAITING_DEPLOY", "DEPLOYING"] as const) {
      const built = [...revisions, revision(2, status, { status_message: "Built." })];
      expect(look({ deployment, revisions: built }).operations).toEqual([
        { kind: "hold", revisionId: "r2", message: heldText },
      ]);
      const held = [...revisions, revision(2, status, { status_message: heldText })];
      expect(look({ deployment, revisions: held })).toEqual({ operations: [], lookAgainMs: null });
    }
  });

  it("serves again once it is started", () => {
    const instances = [instance("r1", "exited", { exit_kind: "stopped", exited_at: ago(60_000) })];
    const started = { ...deployment, desired_state: "running" as const };
    expect(look({ deployment: started, revisions, instances }).operations).toEqual([
      { kind: "start", revisionId: "r1", attempt: 1 },
    ]);
  });
});

describe("a restart", () => {
  const revisions = [revision(1, "DEPLOYED")];
  const deployment = {
    ...{ active_revision_id: "r1", switched_at: ago(3_600_000), restart_requested_at: ago(1_000) },
  };
  const old = instance("r1", "ready", { id: "old", started_at: ago(600_000) });

  it("starts a second server, which takes over; one that is newer than the wish stays", () => {
    expect(look({ deployment, revisions, instances: [old] }).operations).toEqual([
      { kind: "renew", revisionId: "r1", attempt: 1, because: "restart_asked" },
    ]);
    const next = (state: InstanceState) => instance("r1", state, { id: "new", started_at: ago(500) });
    expect(look({ deployment, revisions, instances: [old, next("starting")] }).operations).toEqual([]);
    expect(look({ deployment, revisions, instances: [old, next("ready")] }).operations).toEqual([
      { kind: "hand_over", revisionId: "r1", instanceId: "old" },
    ]);
    expect(look({ deployment, revisions, instances: [next("ready")] }).operations).toEqual([]);
  });

  it("begins at once for a server that keeps ending, and counts anew", () => {
    const dead = { exit_kind: "exit_code" as const, attempt: 9, started_at: ago(3_000) };
    const before = instance("r1", "exited", { ...dead, exited_at: ago(2_000) });
    expect(look({ deployment, revisions, instances: [before] }).operations).toEqual([
      { kind: "start", revisionId: "r1", attempt: 1 },
    ]);
    const after = instance("r1", "exited", { ...dead, exited_at: ago(500) });
    expect(look({ deployment, revisions, instances: [after] }).operations).toEqual([]);
  });
});

describe("what was replaced", () => {
  const revisions = [revision(1, "DEPLOYED"), revision(2, "DEPLOYED")];
  const deployment = { active_revision_id: "r2", previous_revision_id: "r1", switched_at: ago(5_000) };
  const serving = instance("r2", "ready");
  const old = (more: Partial<Instance>) => [serving, instance("r1", "draining", more)];

  it("drains, and stops when it is idle and the new one has proven itself", () => {
    expect(look({ revisions, deployment, instances: [serving, instance("r1", "ready")] }).operations).toEqual(
      [{ kind: "drain", instanceId: "i-r1" }],
    );
    expect(look({ revisions, deployment, instances: old({ drain_since: ago(1_000) }) }).operations).toEqual(
      [],
    );
    expect(look({ revisions, deployment, instances: old({ drain_since: ago(5_000) }) }).operations).toEqual([
      { kind: "stop", instanceId: "i-r1" },
    ]);
  });

  it("waits for its requests, but not for ever", () => {
    const busy = (ms: number) =>
      look({ revisions, deployment, instances: old({ drain_since: ago(ms) }), busy: new Set(["i-r1"]) });
    expect(busy(10_000).operations).toEqual([]);
    expect(busy(30_000).operations).toEqual([{ kind: "stop", instanceId: "i-r1" }]);
  });

  it("is ended when it does not stop by itself", () => {
    const stopping = (ms: number) =>
      look({
        revisions,
        deployment,
        instances: [serving, instance("r1", "stopping", { stop_since: ago(ms), ready_at: ago(50_000) })],
      });
    expect(stopping(9_000)).toEqual({ operations: [], lookAgainMs: 1_000 });
    expect(stopping(10_000).operations).toEqual([{ kind: "kill", instanceId: "i-r1" }]);
  });
});

describe("a deleted deployment", () => {
  it("interrupts and stops everything, and starts nothing", () => {
    const { operations } = look({
      deployment: { deleted_at: now, active_revision_id: "r1" },
      revisions: [revision(1, "DEPLOYED"), revision(2, "BUILDING"), revision(3, "QUEUED")],
      instances: [instance("r1", "ready")],
      building: new Set(["r2"]),
    });
    expect(operations.map(({ kind }) => kind)).toEqual(["interrupt", "interrupt", "stop"]);
  });
});

describe("a server that ended and serves again", () => {
  const deployment = { active_revision_id: "r1" };
  const serving = (readyMs: number) => [instance("r1", "ready", { ready_at: ago(readyMs) })];
  const revisions = [revision(1, "DEPLOYED", { condition: "crash_loop" })];

  it("has recovered once it has stayed for a while", () => {
    expect(look({ deployment, revisions, instances: serving(20_000) }).operations).toEqual([
      { kind: "recovered", revisionId: "r1" },
    ]);
    expect(look({ deployment, revisions, instances: serving(5_000) })).toEqual({
      operations: [],
      lookAgainMs: 10_000,
    });
  });

  it("is let be when nothing was wrong, whatever the words about it are", () => {
    const well = [revision(1, "DEPLOYED", { status_message: "Crash loop: the server keeps ending." })];
    expect(look({ deployment, revisions: well, instances: serving(20_000) }).operations).toEqual([]);
  });
});
