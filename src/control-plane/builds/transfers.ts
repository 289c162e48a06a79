import type { Readable } from "node:stream";
import type { AppError } from "../../platform/errors.ts";

export type TransferLimits = {
  atOnce: number;
  /** Of those that are counted together, such as those of one workspace. */
  perGroup: number;
  /** A slow reader must not keep the others waiting for ever. */
  transferMs: number;
  /** The error for a request beyond these limits. */
  busy(): AppError;
};

/** What pods fetch at this moment: one for each id. */
export class Transfers {
  readonly #limits: TransferLimits;
  /** The group of each. */
  readonly #running = new Map<string, string>();

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Counts until the stream is closed: because it ended, its reader closed it, or it took too long. */
  async open({ id, group }: { id: string; group: string }, read: () => Promise<Readable>): Promise<Readable> {
    const { atOnce, perGroup, transferMs } = this.#limits;
    const ofGroup = [...this.#running.values()].filter((each) => each === group).length;
    if (this.#running.has(id) || this.#running.size >= atOnce || ofGroup >= perGroup)
      throw this.#limits.busy();
    this.#running.set(id, group);
    try {
      const stream = await read();
      const late = setTimeout(() => stream.destroy(new Error("Nobody read it in time.")), transferMs).unref();
      stream.once("close", () => {
        clearTimeout(late);
        this.#running.delete(id);
      });
      return stream;
    } catch (error) {
      this.#running.delete(id);
      throw error;
    }
  }
}
