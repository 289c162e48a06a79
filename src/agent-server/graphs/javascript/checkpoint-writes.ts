import { setImmediate as nextTurn } from "node:timers/promises";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

type Writer = Pick<BaseCheckpointSaver, "put" | "putWrites">;

/**
 * The checkpoints of one run on their way to the database. The graph library waits for them before it ends, but not
 * when it is stopped, and after the end of the run the fence refuses them: the work would be lost. The library also
 * does not observe them while it runs: a failed write would be an unhandled rejection, which ends the process. So a
 * failure stops the run from here, and does not reach the library.
 */
export class CheckpointWrites {
  readonly #pending = new Set<Promise<unknown>>();
  readonly #onFailure: (error: unknown) => void;
  #failure: { error: unknown } | undefined;

  /** `saver` must belong to the run alone. */
  constructor(saver: Writer, onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
    const put = saver.put.bind(saver);
    const putWrites = saver.putWrites.bind(saver);
    saver.put = (...given) => this.#note(put(...given), given[0]);
    saver.putWrites = (...given) => this.#note(putWrites(...given), undefined);
  }

  /** The first write that failed. */
  get failure(): { error: unknown } | undefined {
    return this.#failure;
  }

  /** Resolves when none is left, whether they were written or refused. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.all(this.#pending);
      // The library writes them one after another: the end of one may be the beginning of the next.
      await nextTurn();
    }
  }

  #note<T>(write: Promise<T>, instead: T): Promise<T> {
    const noted = write.then(
      (value) => {
        this.#pending.delete(noted);
        return value;
      },
      (error: unknown) => {
        this.#pending.delete(noted);
        this.#failure ??= { error };
        this.#onFailure(error);
        return instead;
      },
    );
    this.#pending.add(noted);
    return noted;
  }
}
