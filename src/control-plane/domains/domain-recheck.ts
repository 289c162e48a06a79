import type { Domain } from "./domain.ts";

/** How often a verified domain is checked again, on average. */
export const recheckMs = 6 * 60 * 60_000;
/** Its proof must be missing for this long, and in this many checks, before it is lost. */
export const lostAfterMs = 24 * 60 * 60_000;
export const lostAfterChecks = 4;
/** One job checks at most this many. Those left over are due at the next look. */
export const recheckBatch = 500;
export const recheckConcurrency = 8;

/** `random` is from 0 to 1: domains that were verified together are not checked together for ever. */
export function nextCheckAt(now: Date, random: number): Date {
  return new Date(now.getTime() + recheckMs * (0.75 + random / 2));
}

export type Missed = { missedChecks: number; missingSince: Date; isLost: boolean };

/** After a check that did not find the proof of a verified domain. */
export function afterMiss(domain: Pick<Domain, "missed_checks" | "missing_since">, now: Date): Missed {
  const missedChecks = domain.missed_checks + 1;
  const missingSince = domain.missing_since ?? now;
  const missingMs = now.getTime() - missingSince.getTime();
  return {
    missedChecks,
    missingSince,
    isLost: missedChecks >= lostAfterChecks && missingMs >= lostAfterMs,
  };
}
