import { BlockMemory } from "./block-memory.ts";

/** The room for a page's levels in front of its values: enough for a full page of texts, nulls among them. */
export const levelsRoom = 1_024;

const mostKept = 16;

/**
 * Memory of pages, reused once a page is compressed. Allocating it for every page would cost a copy and page faults,
 * and make the garbage collector run every few pages.
 */
export class PageMemory {
  readonly #blocks: BlockMemory;

  constructor(pageBytes: number) {
    // A page ends with the value that fills it.
    this.#blocks = new BlockMemory(levelsRoom + pageBytes + Math.ceil(pageBytes / 16), mostKept);
  }

  take(): Buffer {
    return this.#blocks.take();
  }

  /** Takes it back as soon as its compressed form is there, unless a page outgrew it. */
  giveBackAfter(memory: Buffer, compressed: Promise<Buffer> | Buffer): void {
    const giveBack = () => {
      if (memory.length === this.#blocks.blockBytes) this.#blocks.giveBack(memory);
    };
    if (compressed instanceof Promise) compressed.then(giveBack, () => {});
    else giveBack();
  }
}
