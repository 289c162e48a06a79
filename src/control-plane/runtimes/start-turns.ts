import { within } from "../../platform/within.ts";
import { Turns } from "../builds/turns.ts";

/** So many servers start at once: more would only keep each other from being ready. */
export class StartTurns {
  readonly #turns: Turns;
  readonly #turnMs: number;
  #halting = new AbortController();

  constructor(atOnce: number, turnMs: number) {
    this.#turns = new Turns(atOnce);
    this.#turnMs = turnMs;
  }

  /** False when nothing is to begin any more. The turn ends with `settled`: the server is ready or gone. */
  async take(settled: Promise<void>): Promise<boolean> {
    const begun = Promise.withResolvers<boolean>();
    this.#turns
      .run(this.#halting.signal, async () => {
        begun.resolve(true);
        await within(this.#turnMs, settled);
      })
      .catch(() => begun.resolve(false));
    return begun.promise;
  }

  /** What waits for its turn does not begin any more. */
  halt(): void {
    this.#halting.abort();
    this.#halting = new AbortController();
  }
}
