import { raw } from "../../platform/db/raw.ts";

/** The place of feedback in the order of its time: UTC text with microseconds. */
export type EarlyPlace = { at: string; id: string };

/** At once; the newest each time. */
export const earlyAtOnce = 1_000;

/** What of `trace_feedback` came before its run, after this place in the order of `created_at desc, id desc`. */
export const isEarly = (before: EarlyPlace | undefined) =>
  raw`project_id is null and run_id is not null ${
    before ? raw`and (created_at, id) < (${before.at}::timestamptz, ${before.id}::uuid)` : raw``
  }`;

/**
 * Feedback that came before its run, a part of it each time: the newest, and one part of the older, in turn. Runs that never come must
 * not hide those of others.
 */
export class EarlyFeedbackRounds {
  /** Settles what is before this place, newest first; returns the last place it looked at, if there may be more. */
  readonly #settle: (before: EarlyPlace | undefined) => Promise<EarlyPlace | undefined>;
  #reached: EarlyPlace | undefined;

  constructor(settle: (before: EarlyPlace | undefined) => Promise<EarlyPlace | undefined>) {
    this.#settle = settle;
  }

  async settle(): Promise<void> {
    const newest = await this.#settle(undefined);
    if (newest) this.#reached = await this.#settle(this.#reached ?? newest);
    else this.#reached = undefined;
  }
}
