import { within } from "./within.ts";

const keptMs = 10_000;
/** A probe does not wait longer for the first answer. */
const firstMs = 500;

/**
 * What is wrong with something else that is needed. The answer is the last known one, at once; one that is older than
 * ten seconds is looked up again meanwhile.
 */
export class KnownProblem {
  readonly #lookUp: (found: (problem: string | null) => void) => Promise<unknown>;
  readonly #untilKnown: string;
  #known: { at: number; problem: string | null } | undefined;
  #look: Promise<unknown> | undefined;

  constructor(options: {
    /** Never rejects. Looks up again only after it ended: what hangs is asked once. */
    lookUp(found: (problem: string | null) => void): Promise<unknown>;
    /** The answer while there is none. */
    untilKnown: string;
  }) {
    this.#lookUp = (found) => options.lookUp(found);
    this.#untilKnown = options.untilKnown;
  }

  /** The code of what is wrong, or null. */
  async problem(): Promise<string | null> {
    if (!this.#known || performance.now() - this.#known.at > keptMs) {
      this.#look ??= this.#lookUp((problem) => {
        this.#known = { at: performance.now(), problem };
      }).finally(() => {
        this.#look = undefined;
      });
      if (!this.#known) await within(firstMs, this.#look);
    }
    return this.#known ? this.#known.problem : this.#untilKnown;
  }
}
