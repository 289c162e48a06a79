export type ReaderBudgetOptions = {
  /** What all readers of a process may hold together. */
  maxBytes: number;
  /** One was cut. */
  onCut?(): void;
};

/** What one reader was given and has not taken yet. */
export type Holding = {
  /** Replaces what it held before; an empty list releases it. */
  hold(pieces: readonly Uint8Array[]): void;
  /** It has taken something: others are slower. */
  moved(): void;
  end(): void;
};

type Reader = { pieces: readonly Uint8Array[]; cut(): void };

/**
 * Bounds what is kept in memory for readers that do not read. What several of them wait for is kept and counted once.
 * When something new does not fit, the readers that have not moved for the longest are cut: they reconnect and resume
 * from the log.
 */
export class ReaderBudget {
  readonly #maxBytes: number;
  readonly #onCut: (() => void) | undefined;
  /** In the order in which they last moved. */
  readonly #readers = new Set<Reader>();
  readonly #counts = new Map<Uint8Array, number>();
  #bytes = 0;

  constructor({ maxBytes, onCut }: ReaderBudgetOptions) {
    this.#maxBytes = maxBytes;
    this.#onCut = onCut;
  }

  get bytes(): number {
    return this.#bytes;
  }

  open(cut: () => void): Holding {
    const reader: Reader = { pieces: [], cut };
    const release = () => {
      for (const piece of reader.pieces) this.#release(piece);
      reader.pieces = [];
      this.#readers.delete(reader);
    };
    return {
      hold: (pieces) => {
        const before = this.#bytes;
        for (const piece of pieces) this.#add(piece);
        release();
        if (pieces.length === 0) return;
        reader.pieces = pieces;
        this.#readers.add(reader);
        if (this.#bytes > before) this.#makeRoom(reader);
      },
      moved: () => {
        if (this.#readers.delete(reader)) this.#readers.add(reader);
      },
      end: release,
    };
  }

  #makeRoom(newcomer: Reader): void {
    for (const reader of this.#readers) {
      if (this.#bytes <= this.#maxBytes) return;
      // The reader that was just given something may take it, however large it is.
      if (reader === newcomer) continue;
      for (const piece of reader.pieces) this.#release(piece);
      reader.pieces = [];
      this.#readers.delete(reader);
      reader.cut();
      this.#onCut?.();
    }
  }

  #add(piece: Uint8Array): void {
    const count = this.#counts.get(piece) ?? 0;
    this.#counts.set(piece, count + 1);
    if (count === 0) this.#bytes += piece.byteLength;
  }

  #release(piece: Uint8Array): void {
    const count = this.#counts.get(piece) ?? 0;
    if (count > 1) this.#counts.set(piece, count - 1);
    else if (this.#counts.delete(piece)) this.#bytes -= piece.byteLength;
  }
}
