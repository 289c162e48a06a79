import type { Retention } from "../runs/retention.ts";
import type { RunPlace, RunRemoval } from "./run-storage.ts";

/**
 * Removes runs from two places, the first one first: runs that are on the way from there to the second are held there, so they are found in
 * one of the two.
 */
export class RemovalOfBoth implements RunRemoval {
  readonly #first: RunRemoval;
  readonly #second: RunRemoval;

  constructor(first: RunRemoval, second: RunRemoval) {
    this.#first = first;
    this.#second = second;
  }

  async removeOfProject(place: RunPlace, limit: number): Promise<number> {
    return await this.#upTo(limit, (removal, most) => removal.removeOfProject(place, most));
  }

  async removeOfTraces(place: RunPlace, traceIds: readonly string[], limit: number): Promise<number> {
    return await this.#upTo(limit, (removal, most) => removal.removeOfTraces(place, traceIds, most));
  }

  async removeFeedbackOf(place: RunPlace): Promise<void> {
    await this.#first.removeFeedbackOf(place);
    await this.#second.removeFeedbackOf(place);
  }

  async removeExpired(retentions: readonly Retention[], now: Date, signal: AbortSignal): Promise<void> {
    await this.#first.removeExpired(retentions, now, signal);
    await this.#second.removeExpired(retentions, now, signal);
  }

  /** Callers take as many as the limit for a sign that there are more. */
  async #upTo(
    limit: number,
    remove: (removal: RunRemoval, most: number) => Promise<number>,
  ): Promise<number> {
    const removed = await remove(this.#first, limit);
    return removed >= limit ? removed : removed + (await remove(this.#second, limit - removed));
  }
}
