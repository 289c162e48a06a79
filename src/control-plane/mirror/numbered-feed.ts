type Numbered = { id: number };

/** Transactions commit in another order than they take their numbers: a row may appear after later ones were read. */
const lateNumbers = 500;

export type Batch<Row> = { after: number; upto: number; rows: Row[] };

/**
 * Rows in the order of their numbers, each once. Rows that appear late are found as long as their number is among the
 * last few; what existed before this process began is known from the cursor alone.
 */
export class NumberedFeed<Row extends Numbered> {
  readonly #read: (after: number, limit: number) => Promise<Row[]>;
  readonly #sent = new Set<number>();
  #cursor = 0;
  #floor = 0;

  constructor(read: (after: number, limit: number) => Promise<Row[]>) {
    this.#read = read;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Everything up to here is stored at the other side. */
  begin(cursor: number): void {
    this.#cursor = cursor;
    this.#floor = cursor;
    this.#sent.clear();
  }

  async next(limit: number): Promise<Batch<Row>> {
    const from = Math.max(this.#floor, this.#cursor - lateNumbers);
    const found = await this.#read(from, limit + this.#sent.size);
    const rows = found.filter(({ id }) => !this.#sent.has(id)).slice(0, limit);
    const upto = rows.reduce((largest, { id }) => Math.max(largest, id), this.#cursor);
    return { after: this.#cursor, upto, rows };
  }

  /** The other side has stored that batch, and says up to where it is now. */
  stored(batch: Batch<Row>, cursor: number): void {
    if (cursor !== batch.upto) {
      this.begin(cursor);
      return;
    }
    for (const { id } of batch.rows) this.#sent.add(id);
    this.#cursor = cursor;
    for (const id of this.#sent) if (id <= cursor - lateNumbers) this.#sent.delete(id);
  }
}
