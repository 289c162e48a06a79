import type { DesiredState } from "../desired-state/deployment.ts";
import type { SleepState } from "../desired-state/sleep.ts";
import { type ExitColumns, exitText, isInnocent } from "../runtimes/exit.ts";
import { type Exits, noExits } from "../runtimes/exit-store.ts";
import { crashLoopAttempts } from "../runtimes/instance.ts";

/**
 * `unstable`: it serves now, and exited unexpectedly a short while ago. `away`: its listener does not report, so how it is
 * doing is not known.
 */
export const healthStates = [
  "none",
  "starting",
  "serving",
  "unstable",
  "restarting",
  "crash_loop",
  "stopped",
  "asleep",
  "waking",
  "away",
] as const;
export type HealthState = (typeof healthStates)[number];

/** The newest server of the active revision, and the last message about it. */
export type HealthRow = {
  deployment_id: string;
  desired_state: DesiredState;
  stopped_at: Date | null;
  sleep_state: SleepState;
  sleep_changed_at: Date | null;
  wake_at: Date | null;
  active_number: number | null;
  status_message: string | null;
  instance_state: string | null;
  attempt: number | null;
  ready_at: Date | null;
  exited_at: Date | null;
  /** In a cluster, also in that of a listener: its pods are gone, or none of them takes requests. */
  lost_pods: boolean;
  /** What is wrong with the server that is up, in the words of its runtime. */
  trouble: string | null;
} & ExitColumns;

export type Health = {
  state: HealthState;
  message: string | null;
  attempt: number;
  since: Date | null;
  exits: Exits;
};

/** How what serves is doing. A deployment on its way for the first time has nothing that could be well. */
export function healthOf(row: HealthRow | undefined, exits: Exits = noExits): Health {
  return { ...conditionOf(row, exits), exits };
}

/** Instead of what its listener reported last. */
export function healthAway(health: Health, message: string, since: Date | null): Health {
  return { ...health, state: "away", message, since };
}

function conditionOf(row: HealthRow | undefined, exits: Exits): Omit<Health, "exits"> {
  if (row?.desired_state === "stopped") return stopped(row);
  if (!row || row.active_number === null) return { state: "none", message: null, attempt: 0, since: null };
  const { instance_state: state } = row;
  const isUp = state === "ready" || state === "draining";
  if (row.sleep_state === "asleep" || (row.sleep_state === "waking" && !isUp)) return resting(row);
  const attempt = row.attempt ?? 0;
  if (isUp && row.lost_pods)
    return { state: "restarting", message: lostPodsText(row.trouble), attempt, since: null };
  if (isUp)
    return exits.recent === 0
      ? { state: "serving", message: row.trouble, attempt, since: row.ready_at }
      : { state: "unstable", message: unstableText(exits), attempt, since: row.ready_at };
  const died = state === "exited" && !isInnocent(row.exit_kind);
  if (isCrashLoop(row))
    return { state: "crash_loop", message: row.status_message, attempt, since: row.exited_at };
  if (died || attempt > 1)
    return { state: "restarting", message: row.status_message, attempt, since: row.exited_at };
  return { state: "starting", message: null, attempt, since: null };
}

function lostPodsText(trouble: string | null): string {
  const why = trouble === null ? "" : ` ${trouble}`;
  return `None of its pods takes requests: they were deleted, their node was lost, or they are not healthy.${why} Kubernetes starts them again; until then requests get 503.`;
}

/** A user stopped it; its server may still finish what it has begun. */
function stopped({ instance_state: state, stopped_at: since }: HealthRow): Omit<Health, "exits"> {
  const goesOn = state !== null && state !== "exited";
  const message = goesOn
    ? "Stopping: its server finishes its current work and accepts no new requests."
    : "Stopped. Requests get 503 until it is started.";
  return { state: "stopped", message, attempt: 0, since };
}

/** Well, although nothing runs. */
function resting({
  sleep_state: state,
  sleep_changed_at: since,
  wake_at: at,
}: HealthRow): Omit<Health, "exits"> {
  if (state === "waking")
    return {
      state: "waking",
      message: "Waking up: its server is being started, and requests wait for it.",
      attempt: 0,
      since,
    };
  const due = at === null ? "" : `, and at ${at.toISOString().slice(0, 16)}Z for what is due then`;
  return { state: "asleep", message: `Asleep. It wakes with the next request${due}.`, attempt: 0, since };
}

function unstableText({ recent, last }: Exits): string {
  const times = recent === 1 ? "once" : `${recent} times`;
  return `The server serves now, but it ended by itself ${times} in the last ten minutes. The last time: ${last && exitText(last.exit)}.`;
}

export function isCrashLoop(row: Pick<HealthRow, "instance_state" | "attempt" | "exit_kind">): boolean {
  const attempt = row.attempt ?? 0;
  if (row.instance_state === "starting") return attempt >= crashLoopAttempts;
  const died = row.instance_state === "exited" && !isInnocent(row.exit_kind);
  // The next start is the one that makes it a loop, and it is on its way.
  return died && attempt + 1 >= crashLoopAttempts;
}
