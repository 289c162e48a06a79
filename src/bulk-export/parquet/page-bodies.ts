import type { BlockMemory } from "./block-memory.ts";

/** The compressed pages of one row group, side by side in blocks until the group is written. */
export class PageBodies {
  readonly #memory: BlockMemory;
  readonly #blocks: Buffer[] = [];
  #used = 0;

  constructor(memory: BlockMemory) {
    this.#memory = memory;
  }

  /** A copy, valid until the release: the memory of `body` is the caller's again. */
  keep(body: Buffer): Buffer {
    const { blockBytes } = this.#memory;
    if (body.length > blockBytes) return Buffer.from(body);
    let block = this.#blocks.at(-1);
    if (block === undefined || this.#used + body.length > blockBytes) {
      block = this.#memory.take();
      this.#blocks.push(block);
      this.#used = 0;
    }
    const kept = block.subarray(this.#used, this.#used + body.length);
    body.copy(kept);
    this.#used += body.length;
    return kept;
  }

  release(): void {
    for (const block of this.#blocks.splice(0)) this.#memory.giveBack(block);
    this.#used = 0;
  }
}
