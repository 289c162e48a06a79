import { type ClaimedRun, maxAttempts } from "../runs/run.ts";
import type { HandedBackRun } from "../runs/run-store.ts";

/** Why a running graph was stopped. */
export type StopReason =
  | "interrupt"
  | "rollback"
  | "timeout"
  | "shutdown"
  /** Another process has it. */
  | "lease_lost"
  /** It could not be renewed in time: another process may take it at any moment. */
  | "lease_ended"
  /** The database did not take what the run wrote. */
  | "database"
  /** What the run wrote cannot be stored. */
  | "refused";

/** Why an attempt ended before its run did. */
export const handBackReasons = [
  "shutdown",
  "database",
  "lease_ended",
  "neighbour_blocked",
  "suspected",
  "blocked",
  "worker_lost",
  "neighbour_lost",
  "process_lost",
] as const;
export type HandBackReason = (typeof handBackReasons)[number];

type HandBackRule = {
  /** From which hand-back on the attempt counts towards the limit; null: it never does. */
  countsAfter: number | null;
  /** Whether the next attempt has a process to itself, or only the last one has; undefined leaves that as it was. */
  alone?: boolean | "last";
  /** Each hand-back waits twice as long as the one before, from the second on. */
  waits?: boolean;
};

/** A run goes back to the queue by one of these, or at the end of its lease: then the attempt counts. */
export const handBackRules: Record<HandBackReason, HandBackRule> = {
  shutdown: { countsAfter: null },
  // An outage is our fault. A run whose every write is refused would be retried for ever.
  database: { countsAfter: 20, waits: true },
  lease_ended: { countsAfter: null },
  neighbour_blocked: { countsAfter: null },
  // One of several runs blocked the process, and which one is not known. Run alone, the culprit shows.
  suspected: { countsAfter: null, alone: true },
  blocked: { countsAfter: 0, alone: true },
  // The process of its graph ended, not this one: it is tried again in another, alone, but not alone here.
  worker_lost: { countsAfter: 0 },
  // One of several ended it, or there was none to be had.
  neighbour_lost: { countsAfter: 5, waits: true },
  // Its own process ended, which the run may have caused: if it does so again, no neighbours share its end.
  process_lost: { countsAfter: 0, alone: "last" },
};

/** `excused` hand-backs of the run came before this one. */
export function isExcused(reason: HandBackReason, excused: number): boolean {
  const { countsAfter } = handBackRules[reason];
  return countsAfter === null || excused < countsAfter;
}

type RunInHand = Pick<ClaimedRun, "run_id" | "attempt" | "excused">;

/** What the queue is told of a run that comes back. */
export function handedBack(run: RunInHand, reason: HandBackReason): HandedBackRun {
  const { run_id: runId, attempt } = run;
  const excused = isExcused(reason, run.excused);
  const { alone = null } = handBackRules[reason];
  if (alone !== "last") return { runId, attempt, excused, alone };
  const isLast = attempt - run.excused === maxAttempts - 1;
  return { runId, attempt, excused, alone: isLast ? true : null };
}

const maxWaitMs = 60_000;

export function handBackWaitMs(reason: HandBackReason, excused: number): number {
  if (!handBackRules[reason].waits || excused === 0) return 0;
  return Math.min(maxWaitMs, 500 * 2 ** excused);
}

/** What was missing, of all that an attempt stands on. */
export type HandBackTrouble = Extract<HandBackReason, "database" | "worker_lost" | "neighbour_lost">;

/** What the end of a graph, or its failure to end, means for the run; undefined: another process has it, or its lease runs out. */
export function handBackReason(
  stopped: StopReason | undefined,
  trouble: HandBackTrouble | undefined,
): HandBackReason | undefined {
  if (stopped === "lease_lost") return undefined;
  if (stopped === "shutdown" || stopped === "lease_ended" || stopped === "database") return stopped;
  return stopped === undefined || trouble === "database" ? trouble : undefined;
}

/** What a blocked event loop means for each run of its process. `culprit`: the run whose code blocked it, if known. */
export function judgeBlocked(runIds: readonly string[], culprit: string | undefined): HandBackReason[] {
  const known = culprit !== undefined && runIds.includes(culprit) ? culprit : undefined;
  const blamed = known ?? (runIds.length === 1 ? runIds[0] : undefined);
  if (blamed === undefined) return runIds.map(() => "suspected");
  return runIds.map((id) => (id === blamed ? "blocked" : "neighbour_blocked"));
}
