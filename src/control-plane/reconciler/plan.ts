import type { Deployment } from "../desired-state/deployment.ts";
import { isBuilt, isOpen, isWaiting, type Revision, type RevisionStatus } from "../desired-state/revision.ts";
import { exitOf, exitText, isInnocent } from "../runtimes/exit.ts";
import type { Instance } from "../runtimes/instance.ts";
import {
  planAsleep,
  planDoze,
  planFallingAsleep,
  planWaking,
  type SleepFacts,
  type SleepOperation,
  type SleepStep,
} from "./sleep-plan.ts";

export type Limits = {
  /** How long a server may take to become healthy. */
  healthMs: number;
  /** The longest a replaced server waits for its requests to end. */
  drainMs: number;
  /** How long a replaced server keeps running after the switch, in case the new one dies. */
  bakeMs: number;
  /** If a server exits this soon after the switch, the previous revision takes over again. */
  rollbackMs: number;
  /** How long a server that was asked to stop may take. */
  stopMs: number;
  /** A server that ran this long has proven itself: its next death counts as the first. */
  provenMs: number;
  /** How long a deployment that may sleep stays awake without being used; null: none sleeps. */
  sleepAfterMs: number | null;
};

export type Observed = {
  now: Date;
  deployment: Deployment;
  /** Those on their way, the active and the previous one. */
  revisions: readonly Revision[];
  /** Those that may still run, and the last end of each revision above. */
  instances: readonly Instance[];
  /** Revisions whose build waits in the queue or runs somewhere. */
  building: ReadonlySet<string>;
  /** Servers whose tracing key has been replaced, so that their traces are refused. */
  outdated: ReadonlySet<string>;
  /** Servers that a gateway still has requests at, or may still send some to. */
  busy: ReadonlySet<string>;
  sleep: SleepFacts;
  limits: Limits;
};

export type Operation =
  | { kind: "skip"; revisionId: string; newerNumber: number }
  | { kind: "admit"; revisionId: string; status: RevisionStatus }
  | { kind: "build"; revisionId: string }
  | { kind: "interrupt"; revisionId: string; message: string }
  | { kind: "provision"; revisionId: string }
  | { kind: "begin_deploy"; revisionId: string }
  | { kind: "start"; revisionId: string; attempt: number }
  | {
      kind: "fail";
      revisionId: string;
      instanceId: string | null;
      reason: string;
      /** Why each graph cannot be loaded, as its server has it. */
      broken?: string[];
    }
  | { kind: "switch"; revisionId: string; instanceId: string }
  | { kind: "roll_back"; revisionId: string; toRevisionId: string; reason: string }
  | { kind: "renew"; revisionId: string; attempt: number; because: RenewalReason }
  | { kind: "hold"; revisionId: string; message: string }
  | { kind: "hand_over"; revisionId: string; instanceId: string }
  | { kind: "drain"; instanceId: string }
  | { kind: "undrain"; instanceId: string }
  | { kind: "stop"; instanceId: string }
  | { kind: "kill"; instanceId: string }
  | { kind: "recovered"; revisionId: string }
  | SleepOperation
  | { kind: "remove_traces" }
  | { kind: "purge" };

/** Its tracing key was replaced, or a user asked for a new server. */
export type RenewalReason = "tracing_key" | "restart_asked";

export type Plan = { operations: Operation[]; lookAgainMs: number | null };

/** A server that stays this long has recovered. */
const recoveredMs = 15_000;

const firstBackoffMs = 500;
const maxBackoffMs = 60_000;
const maxPortAttempts = 4;

export function backoffMs(attempt: number): number {
  return Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(attempt - 1, 10));
}

/** What has to be done next for one deployment. Decides everything, does nothing. */
export function plan(observed: Observed): Plan {
  const steps = new Steps();
  if (observed.deployment.deleted_at !== null) planRemoval(observed, steps);
  else if (observed.deployment.desired_state === "stopped") {
    planQueue(observed, steps);
    planStopped(observed, steps);
  } else {
    planQueue(observed, steps);
    planDeploy(observed, steps);
    planServing(observed, steps);
  }
  return { operations: steps.operations, lookAgainMs: steps.lookAgainMs };
}

/** What serves, or would if it were not asleep. */
function planServing(observed: Observed, steps: Steps): void {
  const { sleep_state: state } = observed.deployment;
  if (state === "asleep") {
    planOthers(observed, steps);
    if (!observed.instances.some(live)) steps.take(planAsleep(observed));
    return;
  }
  if (state === "falling_asleep") {
    const ready = observed.instances.filter((instance) => instance.state === "ready");
    for (const { id } of ready) steps.add({ kind: "drain", instanceId: id });
    if (ready.length === 0) steps.take(planFallingAsleep(observed));
    return;
  }
  planActive(observed, steps);
  planOthers(observed, steps);
  planRenewal(observed, steps);
  steps.take(state === "waking" ? planWaking(observed) : planDoze(observed));
}

class Steps {
  readonly operations: Operation[] = [];
  lookAgainMs: number | null = null;

  add(operation: Operation): void {
    this.operations.push(operation);
  }

  lookAgain(afterMs: number): void {
    const wait = Math.max(20, afterMs);
    this.lookAgainMs = this.lookAgainMs === null ? wait : Math.min(this.lookAgainMs, wait);
  }

  take(step: SleepStep): void {
    if (step && "operation" in step) this.add(step.operation);
    else if (step) this.lookAgain(step.lookAgainMs);
  }
}

const live = (instance: Instance) => instance.state !== "exited";
const serving = (instance: Instance) => instance.state === "starting" || instance.state === "ready";

function planRemoval(observed: Observed, steps: Steps): void {
  const { deployment, revisions, instances, now, limits } = observed;
  for (const revision of revisions.filter(({ status }) => isOpen(status))) {
    steps.add({ kind: "interrupt", revisionId: revision.id, message: "The deployment was deleted." });
  }
  for (const instance of instances.filter(live))
    planStop(instance, now, Math.min(limits.stopMs, 5_000), steps);
  if (instances.some(live)) return;
  if (deployment.delete_tracing_project) steps.add({ kind: "remove_traces" });
  // A user asked for it now; otherwise it is done in the round that also looks for others.
  const asked = deployment.purge_after !== null && deployment.purge_after <= now;
  if (asked && !revisions.some(({ status }) => isOpen(status))) steps.add({ kind: "purge" });
}

export const heldText =
  "The deployment is stopped. This revision is deployed when the deployment is started.";

/** No server is wanted. What is built waits; what has begun is finished first. */
function planStopped(observed: Observed, steps: Steps): void {
  const { revisions, instances, now, limits } = observed;
  for (const { id, status, status_message } of revisions) {
    const waits = status === "AWAITING_DEPLOY" || status === "DEPLOYING";
    if (waits && status_message !== heldText) steps.add({ kind: "hold", revisionId: id, message: heldText });
  }
  for (const instance of instances.filter(live)) {
    if (instance.state === "ready") steps.add({ kind: "drain", instanceId: instance.id });
    else if (instance.state === "draining") planDrained(instance, observed, 0, steps);
    else planStop(instance, now, limits.stopMs, steps);
  }
}

/** It gets no new requests: it is stopped when it has answered those it has, or has taken too long. */
function planDrained(
  instance: Instance,
  { now, limits, busy }: Observed,
  bakeMs: number,
  steps: Steps,
): void {
  const drainedMs = now.getTime() - instance.drain_since!.getTime();
  const idle = !busy.has(instance.id) && drainedMs >= bakeMs;
  if (idle || drainedMs >= limits.drainMs) steps.add({ kind: "stop", instanceId: instance.id });
  else steps.lookAgain(Math.min(250, limits.drainMs - drainedMs));
}

function planStop(instance: Instance, now: Date, graceMs: number, steps: Steps): void {
  if (instance.state !== "stopping") {
    steps.add({ kind: "stop", instanceId: instance.id });
    return;
  }
  const waitedMs = now.getTime() - instance.stop_since!.getTime();
  if (waitedMs >= graceMs) steps.add({ kind: "kill", instanceId: instance.id });
  else steps.lookAgain(graceMs - waitedMs);
}

/** One at a time: what is on its way ends first, then the newest of those that wait. */
function planQueue({ revisions, building }: Observed, steps: Steps): void {
  const waiting = revisions.filter(({ status }) => isWaiting(status)).sort((a, b) => a.number - b.number);
  const underWay = revisions.filter(({ status }) => isOpen(status) && !isWaiting(status));
  const newest = waiting.at(-1);
  for (const revision of waiting.slice(0, -1)) {
    steps.add({ kind: "skip", revisionId: revision.id, newerNumber: newest!.number });
  }
  if (newest && underWay.length === 0) {
    const status = isBuilt(newest.source) ? "AWAITING_BUILD" : "AWAITING_DEPLOY";
    steps.add({ kind: "admit", revisionId: newest.id, status });
  }
  for (const { id, status } of underWay) {
    const due = status === "AWAITING_BUILD" || status === "BUILDING";
    if (due && !building.has(id)) steps.add({ kind: "build", revisionId: id });
  }
}

function planDeploy({ deployment, revisions, instances, now, limits }: Observed, steps: Steps): void {
  for (const revision of revisions) {
    if (revision.status === "AWAITING_DEPLOY") {
      const kind = deployment.database_ready ? "begin_deploy" : "provision";
      steps.add({ kind, revisionId: revision.id });
    }
    if (revision.status !== "DEPLOYING") continue;
    const own = instances.filter((instance) => instance.revision_id === revision.id);
    const current = own.find(serving);
    if (!current) {
      const last = own.find((instance) => instance.state === "exited");
      // One that is still stopping must be gone before the next one starts.
      if (own.some(live)) steps.lookAgain(200);
      else if (!last) steps.add({ kind: "start", revisionId: revision.id, attempt: 1 });
      else if (isInnocent(last.exit_kind)) steps.add({ kind: "start", revisionId: revision.id, attempt: 1 });
      else if (last.exit_kind === "port_taken" && last.attempt < maxPortAttempts) {
        steps.add({ kind: "start", revisionId: revision.id, attempt: last.attempt + 1 });
      } else {
        steps.add({ kind: "fail", revisionId: revision.id, instanceId: null, reason: neverHealthy(last) });
      }
    } else planGate(revision, current, now, limits, steps);
  }
}

function howEnded(instance: Instance): string {
  const exit = exitOf(instance);
  return exit ? exitText(exit) : "how is not known";
}

function neverHealthy(instance: Instance): string {
  return instance.exit_kind === "not_started"
    ? `The server could not be started: ${instance.exit_detail}`
    : `The server ended before it was healthy (${howEnded(instance)}).`;
}

/** Only a server that loaded every graph and answers its health check gets the traffic. */
function planGate(revision: Revision, instance: Instance, now: Date, limits: Limits, steps: Steps): void {
  const broken = Object.entries(instance.announced?.broken ?? {});
  const fail = (reason: string, why: { broken?: string[] } = {}) =>
    steps.add({ kind: "fail", revisionId: revision.id, instanceId: instance.id, reason, ...why });
  if (broken.length > 0) {
    const list = broken.map(([graph, why]) => `${graph}: ${why}`).join("\n  ");
    fail(`The server cannot load ${broken.length === 1 ? "a graph" : "some graphs"}:\n  ${list}`, {
      broken: broken.map(([, why]) => why),
    });
  } else if (instance.state === "ready") {
    steps.add({ kind: "switch", revisionId: revision.id, instanceId: instance.id });
  } else {
    const waitedMs = now.getTime() - instance.started_at.getTime();
    if (waitedMs >= limits.healthMs)
      fail(`The server was not healthy after ${Math.round(limits.healthMs / 1000)} s.`);
    else steps.lookAgain(limits.healthMs - waitedMs);
  }
}

function planActive({ deployment, revisions, instances, now, limits }: Observed, steps: Steps): void {
  const active = revisions.find(({ id }) => id === deployment.active_revision_id);
  if (!active) return;
  const own = instances.filter((instance) => instance.revision_id === active.id);
  const [current, ...replaced] = readyOnes(own);
  for (const { id } of replaced) steps.add({ kind: "hand_over", revisionId: active.id, instanceId: id });
  const starting = own.find(({ state }) => state === "starting");
  if (starting) {
    const waitedMs = now.getTime() - starting.started_at.getTime();
    if (waitedMs >= limits.healthMs) steps.add({ kind: "stop", instanceId: starting.id });
    else steps.lookAgain(limits.healthMs - waitedMs);
  }
  if (current) planRecovery(active, current, now, steps);
  if (current || starting) return;
  const draining = own.find((instance) => instance.state === "draining");
  if (draining) {
    steps.add({ kind: "undrain", instanceId: draining.id });
    return;
  }
  if (own.some(live)) {
    steps.lookAgain(100);
    return;
  }
  const last = own.find((instance) => instance.state === "exited");
  const askedAt = deployment.restart_requested_at;
  const isAsked = last !== undefined && askedAt !== null && last.exited_at! < askedAt;
  if (!last || isInnocent(last.exit_kind) || isAsked) {
    steps.add({ kind: "start", revisionId: active.id, attempt: 1 });
    return;
  }
  if (last.exit_kind === "port_taken" && last.attempt < maxPortAttempts) {
    steps.add({ kind: "start", revisionId: active.id, attempt: last.attempt + 1 });
    return;
  }
  const sinceSwitchMs = last.exited_at!.getTime() - (deployment.switched_at?.getTime() ?? 0);
  const previous = revisions.find(({ id }) => id === deployment.previous_revision_id);
  if (previous && sinceSwitchMs < limits.rollbackMs) {
    const reason = `The server exited ${(sinceSwitchMs / 1000).toFixed(1)} s after it took over (${howEnded(last)}).`;
    steps.add({ kind: "roll_back", revisionId: active.id, toRevisionId: previous.id, reason });
    return;
  }
  const ranMs = last.exited_at!.getTime() - last.started_at.getTime();
  const attempt = ranMs >= limits.provenMs ? 1 : last.attempt + 1;
  const waitMs = last.exited_at!.getTime() + backoffMs(attempt === 1 ? 1 : last.attempt) - now.getTime();
  if (waitMs <= 0) steps.add({ kind: "start", revisionId: active.id, attempt });
  else steps.lookAgain(waitMs);
}

/** Newest first: the first one is where the gateway sends requests. */
function readyOnes(instances: readonly Instance[]): Instance[] {
  return instances
    .filter(({ state }) => state === "ready")
    .sort((a, b) => b.started_at.getTime() - a.started_at.getTime());
}

/** A second server of the same revision, which takes over when it is ready; until then the first one serves. */
function planRenewal({ deployment, revisions, instances, outdated, now }: Observed, steps: Steps): void {
  const active = deployment.active_revision_id;
  const own = instances.filter((instance) => instance.revision_id === active);
  const [current] = readyOnes(own);
  if (!active || !current) return;
  const askedAt = deployment.restart_requested_at;
  const isAsked = askedAt !== null && current.started_at < askedAt;
  if (!isAsked && !outdated.has(current.id)) return;
  // What is being deployed is a new server, with the new key.
  if (revisions.some(({ status }) => status === "DEPLOYING")) return;
  if (own.some(({ state }) => state === "starting" || state === "stopping")) return;
  const failed = own.find(
    ({ state, started_at }) => state === "exited" && started_at.getTime() > current.started_at.getTime(),
  );
  const waitMs = failed ? failed.exited_at!.getTime() + backoffMs(failed.attempt) - now.getTime() : 0;
  if (waitMs > 0) steps.lookAgain(waitMs);
  else
    steps.add({
      kind: "renew",
      revisionId: active,
      attempt: (failed?.attempt ?? 0) + 1,
      because: isAsked ? "restart_asked" : "tracing_key",
    });
}

/** The record of its deaths stays until it has run long enough. */
function planRecovery(revision: Revision, instance: Instance, now: Date, steps: Steps): void {
  if (revision.condition === null) return;
  const readyMs = now.getTime() - (instance.ready_at ?? instance.started_at).getTime();
  if (readyMs >= recoveredMs) steps.add({ kind: "recovered", revisionId: revision.id });
  else steps.lookAgain(recoveredMs - readyMs);
}

/** Servers that have no claim to traffic: replaced ones drain, others stop. */
function planOthers(observed: Observed, steps: Steps): void {
  const { deployment, revisions, instances, now, limits } = observed;
  const deploying = new Set(revisions.filter(({ status }) => status === "DEPLOYING").map(({ id }) => id));
  const isActive = (instance: Instance) => instance.revision_id === deployment.active_revision_id;
  const served = instances.some((instance) => isActive(instance) && instance.state === "ready");
  for (const instance of instances.filter(live)) {
    const handedOver = served && instance.state === "draining";
    const isResting = deployment.sleep_state === "asleep";
    const wanted = (isActive(instance) && !handedOver && !isResting) || deploying.has(instance.revision_id);
    if (instance.state === "stopping") {
      // One that never was ready has no runs to finish.
      const graceMs = instance.ready_at === null ? Math.min(limits.stopMs, 3_000) : limits.stopMs;
      planStop(instance, now, graceMs, steps);
    } else if (wanted) continue;
    else if (isResting) steps.add({ kind: "stop", instanceId: instance.id });
    else if (instance.state === "draining") planDrained(instance, observed, limits.bakeMs, steps);
    else steps.add({ kind: instance.state === "ready" ? "drain" : "stop", instanceId: instance.id });
  }
}
