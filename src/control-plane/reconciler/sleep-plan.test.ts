import { describe, expect, it } from "vitest";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";
import type { Instance, InstanceState } from "../runtimes/instance.ts";
import { type Observed, plan } from "./plan.ts";
import { needsWork, noSleepFacts, type SleepFacts, wakeLeadMs } from "./sleep-plan.ts";

const now = new Date("2026-01-01T12:00:00Z");
const ago = (ms: number) => new Date(now.getTime() - ms);
const later = (ms: number) => new Date(now.getTime() + ms);
const hour = 3_600_000;
const sleepAfterMs = 900_000;
const limits = { healthMs: 60_000, drainMs: 30_000, bakeMs: 5_000, rollbackMs: 20_000, stopMs: 10_000 };
const idle = { isBusy: false, dueAt: null };

const serving = { id: "r1", number: 1, status: "DEPLOYED", source: "github", condition: null } as Revision;

function server(state: InstanceState, more: Partial<Instance> = {}): Instance {
  return {
    ...{ id: "i1", revision_id: "r1", state, attempt: 1, announced: null, started_at: ago(hour) },
    ...{ ready_at: ago(hour), drain_since: state === "draining" ? ago(1_000) : null, stop_since: null },
    ...{ exited_at: null, exit_kind: null, exit_detail: null },
    ...more,
  } as Instance;
}

type Given = {
  deployment?: Partial<Deployment>;
  minScale?: number | null;
  instances?: Instance[];
  revisions?: Revision[];
  busy?: string[];
  sleep?: Partial<SleepFacts>;
  after?: number | null;
};

function seen({ deployment, minScale = 0, instances, revisions, busy, sleep, after }: Given): Observed {
  return {
    ...{ now, revisions: revisions ?? [serving], instances: instances ?? [server("ready")] },
    limits: { ...limits, provenMs: 600_000, sleepAfterMs: after === undefined ? sleepAfterMs : after },
    ...{ building: new Set<string>(), outdated: new Set<string>(), busy: new Set(busy) },
    sleep: { ...noSleepFacts, work: idle, ...sleep },
    deployment: {
      ...{ id: "d", deleted_at: null, active_revision_id: "r1", previous_revision_id: null },
      ...{ switched_at: ago(hour), database_ready: true, desired_state: "running" },
      ...{ restart_requested_at: null, preview_of: null, wake_at: null },
      ...{ sleep_state: "awake", sleep_changed_at: null, sleep_settled: false },
      source_config: { resource_spec: { min_scale: minScale }, deployment_type: "dev", listener_id: null },
      ...deployment,
    } as unknown as Deployment,
  };
}

const look = (given: Given = {}) => plan(seen(given));
const kinds = (given: Given) => look(given).operations.map(({ kind }) => kind);

describe("falling asleep", () => {
  it("begins when nobody has used it for long enough", () => {
    expect(look()).toEqual({ operations: [{ kind: "doze" }], lookAgainMs: null });
    const used = look({ sleep: { usedAt: ago(sleepAfterMs - 5_000) } });
    expect(used).toEqual({ operations: [], lookAgainMs: 5_000 });
    expect(look({ instances: [server("ready", { ready_at: ago(1_000) })] }).lookAgainMs).toBe(
      sleepAfterMs - 1_000,
    );
    // It has just refused to sleep: it is not asked again at once.
    expect(kinds({ deployment: { sleep_changed_at: ago(1_000) } })).toEqual([]);
  });

  it("is for those alone whose settings say so", () => {
    expect(kinds({ minScale: 1 })).toEqual([]);
    expect(kinds({ minScale: null })).toEqual([]);
    expect(kinds({ minScale: null, deployment: { preview_of: "d0" } })).toEqual(["doze"]);
    expect(kinds({ after: null })).toEqual([]);
    const of = (deployment_type: string) => ({
      source_config: { resource_spec: null, deployment_type, listener_id: null } as never,
    });
    expect(kinds({ deployment: of("dev_free_zero") })).toEqual(["doze"]);
    expect(kinds({ deployment: of("prod") })).toEqual([]);
  });

  it.each<[string, Given]>([
    ["a request is open", { sleep: { isHeld: true } }],
    ["a run is under way", { sleep: { work: { isBusy: true, dueAt: null } } }],
    ["a cron is due in a moment", { sleep: { work: { isBusy: false, dueAt: later(15_000) } } }],
    ["its database was not asked", { sleep: { work: undefined } }],
  ])("waits while %s", (_why, given) => {
    expect(look(given)).toEqual({ operations: [], lookAgainMs: 60_000 });
  });

  it("is not thought of for ten minutes where its database does not tell", () => {
    expect(look({ sleep: { work: null } })).toEqual({ operations: [], lookAgainMs: 600_000 });
  });

  it("leaves what is being changed alone", () => {
    const building = { ...serving, id: "r2", number: 2, status: "BUILDING" } as Revision;
    expect(kinds({ revisions: [serving, building] })).not.toContain("doze");
    expect(kinds({ deployment: { restart_requested_at: ago(1_000) } })).toEqual(["renew"]);
    expect(
      kinds({ instances: [server("ready"), server("stopping", { id: "i0", stop_since: now })] }),
    ).toEqual([]);
  });

  const falling = { sleep_state: "falling_asleep" as const };

  it("drains its server, and stops it when no gateway has a request and nothing is to be done", () => {
    expect(look({ deployment: falling }).operations).toEqual([{ kind: "drain", instanceId: "i1" }]);
    const draining = { deployment: falling, instances: [server("draining")] };
    expect(look({ ...draining, busy: ["i1"] })).toEqual({ operations: [], lookAgainMs: 250 });
    expect(look(draining).operations).toEqual([{ kind: "fall_asleep", instanceId: "i1" }]);
  });

  it.each<[string, Given]>([
    ["requests", { busy: ["i1"], instances: [server("draining", { drain_since: ago(20_000) })] }],
    ["work", { sleep: { work: { isBusy: true, dueAt: null } } }],
    ["due_soon", { sleep: { work: { isBusy: false, dueAt: later(5_000) } } }],
    ["unknown_work", { sleep: { work: null } }],
    ["change", { revisions: [serving, { ...serving, id: "r2", status: "BUILDING" } as Revision] }],
  ])("is given up for %s", (because, given) => {
    const { operations } = look({ deployment: falling, instances: [server("draining")], ...given });
    expect(operations.at(-1)).toEqual({ kind: "stay_awake", because });
  });

  it("goes on where its server is gone already", () => {
    const instances = [server("exited", { exited_at: ago(10), exit_kind: "signal" })];
    expect(look({ deployment: falling, instances }).operations).toEqual([
      { kind: "fall_asleep", instanceId: null },
    ]);
  });
});

describe("asleep", () => {
  const asleep = { sleep_state: "asleep" as const, sleep_changed_at: ago(1_000) };
  const gone = [server("exited", { exited_at: ago(10), exit_kind: "stopped" })];

  it("stops what still runs, and kills what does not end", () => {
    expect(look({ deployment: asleep, instances: [server("draining")] }).operations).toEqual([
      { kind: "stop", instanceId: "i1" },
    ]);
    expect(
      look({ deployment: asleep, instances: [server("stopping", { stop_since: ago(11_000) })] }).operations,
    ).toEqual([{ kind: "kill", instanceId: "i1" }]);
  });

  it("looks once, after its server has ended, at what is left to do", () => {
    const unsettled = { deployment: asleep, instances: gone };
    expect(needsWork(seen(unsettled), noSleepFacts)).toBe(true);
    expect(look(unsettled).operations).toEqual([{ kind: "settle", wakeAt: null }]);
    const dueAt = later(hour);
    const due = look({ ...unsettled, sleep: { work: { isBusy: false, dueAt } } });
    expect(due.operations).toEqual([{ kind: "settle", wakeAt: new Date(dueAt.getTime() - wakeLeadMs) }]);
    expect(look({ ...unsettled, sleep: { work: { isBusy: true, dueAt: null } } }).operations).toEqual([
      { kind: "wake", because: "work" },
    ]);
    expect(look({ ...unsettled, sleep: { work: null } }).operations).toEqual([
      { kind: "wake", because: "unknown_work" },
    ]);
  });

  it("does nothing until something is due, and needs no timer for what is far away", () => {
    const settled = { ...asleep, sleep_settled: true };
    const at = (wake_at: Date | null) => look({ deployment: { ...settled, wake_at }, instances: gone });
    expect(needsWork(seen({ deployment: settled, instances: gone }), noSleepFacts)).toBe(false);
    expect(at(null)).toEqual({ operations: [], lookAgainMs: null });
    expect(at(later(hour))).toEqual({ operations: [], lookAgainMs: null });
    expect(at(later(90_000))).toEqual({ operations: [], lookAgainMs: 90_000 });
    expect(at(now).operations).toEqual([{ kind: "wake", because: "due" }]);
  });

  it("builds and starts a new revision without waking the old one", () => {
    const next = { ...serving, id: "r2", number: 2, status: "DEPLOYING" } as Revision;
    const { operations } = look({
      deployment: { ...asleep, sleep_settled: true },
      revisions: [serving, next],
      instances: gone,
    });
    expect(operations).toEqual([{ kind: "start", revisionId: "r2", attempt: 1 }]);
  });

  it("stays away when it is stopped or deleted", () => {
    expect(kinds({ deployment: { ...asleep, desired_state: "stopped" }, instances: gone })).toEqual([]);
    expect(kinds({ deployment: { ...asleep, deleted_at: now, purge_after: now }, instances: gone })).toEqual([
      "purge",
    ]);
  });
});

describe("waking", () => {
  const waking = { sleep_state: "waking" as const, sleep_changed_at: ago(1_000) };

  it("starts a server, and is over when it takes requests", () => {
    const gone = server("exited", { exited_at: ago(hour), exit_kind: "stopped" });
    expect(kinds({ deployment: waking, instances: [gone] })).toEqual(["start"]);
    const starting = server("starting", { id: "i2", started_at: ago(900), ready_at: null });
    expect(kinds({ deployment: waking, instances: [gone, starting] })).toEqual([]);
    expect(kinds({ deployment: waking, instances: [gone, server("ready")] })).toEqual(["woken"]);
  });

  it("takes back a server that had not ended yet", () => {
    expect(kinds({ deployment: waking, instances: [server("draining")] })).toEqual(["undrain"]);
    expect(kinds({ deployment: waking, instances: [server("stopping", { stop_since: ago(10) })] })).toEqual(
      [],
    );
  });

  it("is over when the server cannot be started, so that those who wait are told", () => {
    const failed = server("exited", { exited_at: ago(10), exit_kind: "exit_code", exit_detail: "1" });
    expect(kinds({ deployment: waking, instances: [failed] })).toContain("woken");
    // An end from before it slept says nothing.
    const before = { ...failed, exited_at: ago(hour) };
    expect(kinds({ deployment: waking, instances: [before] })).toEqual(["start"]);
  });

  it("is over when its server was stopped because it never became healthy", () => {
    const stopped = server("exited", { exited_at: ago(10), exit_kind: "stopped", ready_at: null });
    expect(look({ deployment: waking, instances: [stopped] }).operations).toContainEqual({
      ...{ kind: "woken", isReady: false },
    });
    // One that had served before it was stopped to sleep.
    const slept = { ...stopped, ready_at: ago(hour) };
    expect(kinds({ deployment: waking, instances: [slept] })).toEqual(["start"]);
    // The platform was restarted meanwhile.
    const lost: Instance = { ...stopped, exit_kind: "lost" };
    expect(kinds({ deployment: waking, instances: [lost] })).toEqual(["start"]);
  });

  it("is over when it has taken as long as a server may", () => {
    const starting = server("starting", { started_at: ago(900), ready_at: null });
    const since = (ms: number) =>
      look({ deployment: { ...waking, sleep_changed_at: ago(ms) }, instances: [starting] });
    expect(since(limits.healthMs - 700)).toEqual({ operations: [], lookAgainMs: 700 });
    expect(since(limits.healthMs).operations).toEqual([{ kind: "woken", isReady: false }]);
  });
});
