/**
 * Memory in blocks of one size that are used again. What is taken anew and left to the collector stays with the process
 * long after it was needed: the collector comes late, and what it frees is too scattered to be given back.
 */
export class BlockMemory {
  readonly blockBytes: number;
  readonly #mostKept: number;
  readonly #free: Buffer[] = [];

  constructor(blockBytes: number, mostKept: number) {
    this.blockBytes = blockBytes;
    this.#mostKept = mostKept;
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
  }

  /** Only what nobody reads or writes any more; a block that is never given back is simply lost to the others. */
  giveBack(block: Buffer): void {
    if (block.length !== this.blockBytes) throw new Error(`A block has ${block.length} bytes.`);
    if (this.#free.length < this.#mostKept) this.#free.push(block);
  }
}
