import type { Revision, RevisionEvent } from "./deployment-api.ts";

export type PhaseState = "waiting" | "going" | "done" | "failed" | "left-out" | "unreached";
export type Phase = { name: string; state: PhaseState; ms: number | null; since: string | null };

/** The statuses each phase begins with; a revision that needs no build never has those of the build. */
const phases: readonly { name: string; begins: readonly string[] }[] = [
  { name: "Queue", begins: ["CREATING", "QUEUED", "AWAITING_BUILD"] },
  { name: "Build", begins: ["BUILDING"] },
  { name: "Deploy", begins: ["AWAITING_DEPLOY", "DEPLOYING"] },
];

/** How far a revision is and how long each phase took, from its timeline. Pure. */
export function phasesOf(revision: Pick<Revision, "status" | "events">): Phase[] {
  const moves = revision.events.filter(({ status }) => status !== null);
  const over = !["CREATING", "QUEUED", "AWAITING_BUILD", "BUILDING", "AWAITING_DEPLOY", "DEPLOYING"].includes(
    revision.status,
  );
  const found = phases.map(({ name, begins }): Phase => {
    const first = moves.findIndex(({ status }) => begins.includes(status!));
    if (first < 0) return { name, state: over ? "left-out" : "waiting", ms: null, since: null };
    const next = moves.find(({ status }, index) => index > first && !begins.includes(status!));
    const since = moves[first]!.created_at;
    if (!next) return { name, state: "going", ms: null, since };
    const failed = next.status !== "DEPLOYED" && !phases.some((phase) => phase.begins.includes(next.status!));
    return { name, state: failed ? "failed" : "done", ms: between(since, next.created_at), since };
  });
  // A phase after the current one may still come; after a failure none does.
  const going = found.findIndex(({ state }) => state === "going");
  const failed = found.findIndex(({ state }) => state === "failed");
  return found.map((phase, index) => {
    if (phase.state !== "left-out") return phase;
    if (going >= 0 && index > going) return { ...phase, state: "waiting" };
    return failed >= 0 && index > failed ? { ...phase, state: "unreached" } : phase;
  });
}

export type Step = RevisionEvent & { ms: number | null };

/** Each entry with the time until the next one. */
export function stepsOf(events: readonly RevisionEvent[]): Step[] {
  return events.map((event, index) => {
    const next = events[index + 1];
    return { ...event, ms: next ? between(event.created_at, next.created_at) : null };
  });
}

function between(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}
