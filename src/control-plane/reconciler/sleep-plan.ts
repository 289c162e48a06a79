import { isOpen } from "../desired-state/revision.ts";
import { type AwaitedWork, maySleep } from "../desired-state/sleep.ts";
import { ownEnds } from "../runtimes/exit.ts";
import type { Instance } from "../runtimes/instance.ts";
import type { Observed } from "./plan.ts";

/** Why a deployment that was about to sleep does not. */
export type AwakeReason = "requests" | "work" | "due_soon" | "unknown_work" | "change";

export type SleepOperation =
  | { kind: "doze" }
  | { kind: "stay_awake"; because: AwakeReason }
  | { kind: "fall_asleep"; instanceId: string | null }
  | { kind: "settle"; wakeAt: Date | null }
  | { kind: "wake"; because: "due" | "work" | "unknown_work" }
  | { kind: "woken"; isReady: boolean };

/** What is looked up for a deployment that could sleep, and only then. */
export type SleepFacts = {
  /** The last request through any gateway. */
  usedAt: Date | null;
  /** A gateway has requests at its server. */
  isHeld: boolean;
  /** What its own database has waiting; null: that cannot be read. Undefined: not looked up. */
  work: AwaitedWork | null | undefined;
};

export const noSleepFacts: SleepFacts = { usedAt: null, isHeld: false, work: undefined };

export type SleepStep = { operation: SleepOperation } | { lookAgainMs: number } | null;

/** It is started this long before something is due. */
export const wakeLeadMs = 10_000;
/** Where something is due sooner, it is not worth to sleep. */
const shortestSleepMs = 2 * wakeLeadMs;
/** Every gateway reports within its lease; a deployment that still has requests then is in use. */
const dozeMs = 20_000;
/** How often what keeps it awake is looked at. */
const busyLookMs = 60_000;
/** One whose database does not tell what it has to do is left alone for so long. */
export const unknownMs = 600_000;
/** Those due later are found by the sweep. */
const nearMs = 120_000;

type Seen = Omit<Observed, "sleep">;

/** The one server that could be stopped; null while anything is on its way. */
export function idleServer({ deployment, revisions, instances, outdated }: Seen): Instance | null {
  if (revisions.some(({ status }) => isOpen(status))) return null;
  const [only, ...others] = instances.filter(({ state }) => state !== "exited");
  if (!only || others.length > 0 || only.state !== "ready") return null;
  const asked = deployment.restart_requested_at;
  if (only.revision_id !== deployment.active_revision_id || outdated.has(only.id)) return null;
  return asked !== null && only.started_at < asked ? null : only;
}

/** Whether its use has to be looked up: its settings let it sleep, and it could. */
export function isSleepCandidate(seen: Seen): boolean {
  const { deployment, limits } = seen;
  return limits.sleepAfterMs !== null && maySleep(deployment) && idleServer(seen) !== null;
}

/** Not before this time, whatever has happened since it was used. */
export function restsFrom(seen: Seen, usedAt: Date | null): Date {
  const server = idleServer(seen);
  const times = [server?.ready_at ?? server?.started_at, usedAt, seen.deployment.sleep_changed_at];
  const latest = Math.max(...times.map((at) => at?.getTime() ?? 0));
  return new Date(latest + (seen.limits.sleepAfterMs ?? 0));
}

/** Whether its own database has to be asked. */
export function needsWork(seen: Seen, { usedAt, isHeld }: SleepFacts): boolean {
  const { deployment, now, instances, busy } = seen;
  const live = instances.filter(({ state }) => state !== "exited");
  if (deployment.sleep_state === "asleep") return !deployment.sleep_settled && live.length === 0;
  if (deployment.sleep_state === "falling_asleep")
    return live.length === 1 && live[0]!.state === "draining" && !busy.has(live[0]!.id);
  return isSleepCandidate(seen) && !isHeld && restsFrom(seen, usedAt) <= now;
}

/** Of one that is awake: whether it is time to sleep. */
export function planDoze(observed: Observed): SleepStep {
  if (observed.deployment.sleep_state !== "awake" || !isSleepCandidate(observed)) return null;
  const { now, sleep, limits } = observed;
  const waitMs = restsFrom(observed, sleep.usedAt).getTime() - now.getTime();
  if (waitMs > 0) return { lookAgainMs: waitMs };
  if (!sleep.isHeld && sleep.work === null) return { lookAgainMs: unknownMs };
  if (sleep.isHeld || keptAwake(sleep.work, now) !== null)
    return { lookAgainMs: Math.min(busyLookMs, limits.sleepAfterMs!) };
  return { operation: { kind: "doze" } };
}

/** Of one that is being woken: its server takes requests, or has failed to, or has taken too long. */
export function planWaking({ deployment, instances, now, limits }: Observed): SleepStep {
  const own = instances.filter(({ revision_id }) => revision_id === deployment.active_revision_id);
  const since = deployment.sleep_changed_at ?? new Date(0);
  if (own.some(({ state }) => state === "ready")) return { operation: { kind: "woken", isReady: true } };
  const leftMs = limits.healthMs - (now.getTime() - since.getTime());
  const isOver = leftMs <= 0 || own.some((each) => hasFailed(each, since));
  return isOver ? { operation: { kind: "woken", isReady: false } } : { lookAgainMs: leftMs };
}

/** From here on it is restarted like any other deployment, and its health says why; waiting requests get an error. */
function hasFailed({ state, exit_kind, exited_at, ready_at }: Instance, since: Date): boolean {
  if (state !== "exited" || exited_at! <= since) return false;
  // We had to stop it, because it never became healthy. One that is lost with its platform has not failed.
  if (exit_kind === "stopped") return ready_at === null;
  return exit_kind !== null && ownEnds.includes(exit_kind);
}

/** Of one that gets no new requests: it is stopped when it has nothing left to do. */
export function planFallingAsleep(observed: Observed): SleepStep {
  const { deployment, revisions, instances, now, busy, sleep } = observed;
  const stay = (because: AwakeReason): SleepStep => ({ operation: { kind: "stay_awake", because } });
  const live = instances.filter(({ state }) => state !== "exited");
  if (revisions.some(({ status }) => isOpen(status))) return stay("change");
  if (live.length === 0) return { operation: { kind: "fall_asleep", instanceId: null } };
  const [only, ...others] = live;
  if (others.length > 0 || only!.state !== "draining" || only!.revision_id !== deployment.active_revision_id)
    return stay("change");
  if (busy.has(only!.id)) {
    const waitedMs = now.getTime() - only!.drain_since!.getTime();
    return waitedMs >= dozeMs ? stay("requests") : { lookAgainMs: Math.min(250, dozeMs - waitedMs) };
  }
  const because = keptAwake(sleep.work, now);
  return because === null ? { operation: { kind: "fall_asleep", instanceId: only!.id } } : stay(because);
}

/** Of one whose server is gone: what it may have left unfinished counts, and from then on what is due next. */
export function planAsleep({ deployment, now, sleep }: Observed): SleepStep {
  if (!deployment.sleep_settled) {
    const { work } = sleep;
    if (!work) return { operation: { kind: "wake", because: "unknown_work" } };
    if (work.isBusy) return { operation: { kind: "wake", because: "work" } };
    const wakeAt = work.dueAt && new Date(work.dueAt.getTime() - wakeLeadMs);
    return { operation: { kind: "settle", wakeAt } };
  }
  if (deployment.wake_at === null) return null;
  const waitMs = deployment.wake_at.getTime() - now.getTime();
  if (waitMs <= 0) return { operation: { kind: "wake", because: "due" } };
  return waitMs <= nearMs ? { lookAgainMs: waitMs } : null;
}

function keptAwake(work: AwaitedWork | null | undefined, now: Date): AwakeReason | null {
  if (!work) return "unknown_work";
  if (work.isBusy) return "work";
  const isSoon = work.dueAt !== null && work.dueAt.getTime() - now.getTime() < shortestSleepMs;
  return isSoon ? "due_soon" : null;
}
