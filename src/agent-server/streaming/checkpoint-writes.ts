import { setImmediate as nextTurn } from "node:timers/promises";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

type Writer = Pick<BaseCheckpointSaver, "put" | "putWrites">;

/**
 * The checkpoints of one run on their way to the database. The graph library waits for them before it ends, but not
 * when it is told to stop, and once the run has ended the fence refuses them: what it had done would be lost.
 */
export class CheckpointWrites {
  readonly #pending = new Set<Promise<unknown>>();

  /** `saver` must belong to the run alone. */
  constructor(saver: Writer) {
    const put = saver.put.bind(saver);
    const putWrites = saver.putWrites.bind(saver);
    saver.put = (...given) => this.#note(put(...given));
    saver.putWrites = (...given) => this.#note(putWrites(...given));
  }

  /** Resolves when none is left, whether they were written or refused. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) {
      await Promise.allSettled(this.#pending);
      // The library writes them one after another: the end of one may be the beginning of the next.
      await nextTurn();
    }
  }

  #note<T>(write: Promise<T>): Promise<T> {
    this.#pending.add(write);
    const forget = () => this.#pending.delete(write);
    write.then(forget, forget);
    return write;
  }
}
