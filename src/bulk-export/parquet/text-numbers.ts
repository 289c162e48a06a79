const tableSize = 16_384;

/** Gives each different text a number, in the order they come, without making strings of them. */
export class TextNumbers {
  /** Numbers plus one, by hash; zero is free. Never more than a quarter full. */
  readonly #table = new Uint16Array(tableSize);
  readonly #most: number;
  #entries: Buffer[] = [];
  #last = -1;

  constructor(most: number) {
    if (most > tableSize / 4) throw new Error(`The table holds ${tableSize / 4} texts, not ${most}.`);
    this.#most = most;
  }

  get entries(): readonly Buffer[] {
    return this.#entries;
  }

  /** -1 when there is no room for another one. */
  numberOf(source: Buffer, start: number, length: number): number {
    // Neighbours are often the same.
    if (this.#last >= 0 && isSame(this.#entries[this.#last]!, source, start, length)) return this.#last;
    let hash = 0x811c9dc5;
    for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ source[at]!, 0x01000193);
    for (let slot = (hash ^ (hash >>> 15)) & (tableSize - 1); ; slot = (slot + 1) & (tableSize - 1)) {
      const found = this.#table[slot]! - 1;
      if (found < 0) return this.#add(slot, source, start, length);
      if (isSame(this.#entries[found]!, source, start, length)) {
        this.#last = found;
        return found;
      }
    }
  }

  clear(): void {
    this.#table.fill(0);
    this.#entries = [];
    this.#last = -1;
  }

  #add(slot: number, source: Buffer, start: number, length: number): number {
    if (this.#entries.length === this.#most) return -1;
    this.#last = this.#entries.length;
    this.#entries.push(Buffer.from(source.subarray(start, start + length)));
    this.#table[slot] = this.#entries.length;
    return this.#last;
  }
}

function isSame(entry: Buffer, source: Buffer, start: number, length: number): boolean {
  if (entry.length !== length) return false;
  for (let at = 0; at < length; at++) if (entry[at] !== source[start + at]) return false;
  return true;
}
