/**
 * Memory in blocks of one size that are reused. Memory that is allocated each time and left to the garbage collector
 * stays with the process long after it was needed: the collector runs late, and what it frees is too fragmented to be
 * returned to the system.
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

  /** Only for blocks that are no longer read or written. A block that is never returned is simply not reused. */
  giveBack(block: Buffer): void {
    if (block.length !== this.blockBytes) throw new Error(`A block has ${block.length} bytes.`);
    if (this.#free.length < this.#mostKept) this.#free.push(block);
  }
}
