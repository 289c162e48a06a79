/**
 * Keys made at the same time grow old at the same time, and so do the servers that were started with them. They are replaced a few at a time, because each one runs
 * twice for a while and the machine may not have room for all of them twice.
 */
export class RenewalTurns {
  readonly #atOnce: number;
  readonly #patienceMs: number;
  readonly #takenAt = new Map<string, number>();

  constructor(options: { atOnce: number; patienceMs: number }) {
    this.#atOnce = options.atOnce;
    this.#patienceMs = options.patienceMs;
  }

  /** False while others have their turn. One that does not come to an end makes room for them, and asks again. */
  take(deploymentId: string, now: Date): boolean {
    for (const [id, at] of this.#takenAt) {
      if (now.getTime() - at >= this.#patienceMs) this.#takenAt.delete(id);
    }
    if (this.#takenAt.has(deploymentId)) return true;
    if (this.#takenAt.size >= this.#atOnce) return false;
    this.#takenAt.set(deploymentId, now.getTime());
    return true;
  }

  /** True when it had a turn, which is free now. */
  giveBack(deploymentId: string): boolean {
    return this.#takenAt.delete(deploymentId);
  }
}
