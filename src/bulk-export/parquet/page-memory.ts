/** The room for a page's levels in front of its values: enough for a full page of texts, nulls among them. */
export const levelsRoom = 1_024;

const mostKept = 16;

/**
 * Memory of pages, used again once a page is compressed. Taken anew for every page, it costs a copy and its first
 * touch, and makes the collector of garbage run every few pages.
 */
export class PageMemory {
  readonly #bytes: number;
  readonly #free: Buffer[] = [];

  constructor(pageBytes: number) {
    // A page ends with the value that fills it.
    this.#bytes = levelsRoom + pageBytes + Math.ceil(pageBytes / 16);
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** Takes it back as soon as its compressed form is there, unless that is the very same memory. */
  giveBackAfter(memory: Buffer, compressed: Promise<Buffer> | Buffer): void {
    const giveBack = (body: Buffer) => {
      const isOurs = memory.length === this.#bytes && body.buffer !== memory.buffer;
      if (isOurs && this.#free.length < mostKept) this.#free.push(memory);
    };
    if (compressed instanceof Promise) compressed.then(giveBack, () => {});
    else giveBack(compressed);
  }
}
