const maxBoundBytes = 64;

/** Smallest and largest of a column's values, for readers that skip what they need not read. */
export type Range = { bounds(): { min: Buffer; max: Buffer } | undefined };

/** By unsigned bytes, as Parquet orders texts. Stops at a value too long to be kept in a header. */
export class TextRange implements Range {
  #min: Buffer | undefined;
  #max: Buffer | undefined;
  #tooLong = false;

  add(source: Uint8Array, start: number, end: number): void {
    if (this.#tooLong) return;
    if (end - start > maxBoundBytes) {
      this.#tooLong = true;
      return;
    }
    if (this.#min === undefined || this.#max === undefined) {
      this.#min = Buffer.from(source.subarray(start, end));
      this.#max = this.#min;
    } else if (compareBytes(source, start, end, this.#min) < 0) {
      this.#min = Buffer.from(source.subarray(start, end));
    } else if (compareBytes(source, start, end, this.#max) > 0) {
      this.#max = Buffer.from(source.subarray(start, end));
    }
  }

  bounds() {
    if (this.#tooLong || this.#min === undefined || this.#max === undefined) return undefined;
    return { min: this.#min, max: this.#max };
  }
}

/** Whole numbers in two halves, the upper one signed. */
export class Int64Range implements Range {
  #any = false;
  #minHigh = 0;
  #minLow = 0;
  #maxHigh = 0;
  #maxLow = 0;

  add(high: number, low: number): void {
    if (!this.#any || high < this.#minHigh || (high === this.#minHigh && low < this.#minLow)) {
      this.#minHigh = high;
      this.#minLow = low;
    }
    if (!this.#any || high > this.#maxHigh || (high === this.#maxHigh && low > this.#maxLow)) {
      this.#maxHigh = high;
      this.#maxLow = low;
    }
    this.#any = true;
  }

  bounds() {
    if (!this.#any) return undefined;
    return { min: int64Bytes(this.#minHigh, this.#minLow), max: int64Bytes(this.#maxHigh, this.#maxLow) };
  }
}

function int64Bytes(high: number, low: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(low, 0);
  bytes.writeInt32LE(high, 4);
  return bytes;
}

export class DoubleRange implements Range {
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #any = false;
  #hasNaN = false;

  add(value: number): void {
    if (Number.isNaN(value)) this.#hasNaN = true;
    this.#any = true;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  bounds() {
    if (!this.#any || this.#hasNaN) return undefined;
    const min = Buffer.alloc(8);
    const max = Buffer.alloc(8);
    // The format asks for this: a reader may order the two zeros either way.
    min.writeDoubleLE(this.#min === 0 ? -0 : this.#min);
    max.writeDoubleLE(this.#max === 0 ? 0 : this.#max);
    return { min, max };
  }
}

export class BoolRange implements Range {
  #hasTrue = false;
  #hasFalse = false;

  add(value: boolean): void {
    if (value) this.#hasTrue = true;
    else this.#hasFalse = true;
  }

  bounds() {
    if (!this.#hasTrue && !this.#hasFalse) return undefined;
    return { min: Buffer.from([this.#hasFalse ? 0 : 1]), max: Buffer.from([this.#hasTrue ? 1 : 0]) };
  }
}

function compareBytes(source: Uint8Array, start: number, end: number, other: Uint8Array): number {
  const length = Math.min(end - start, other.length);
  for (let index = 0; index < length; index++) {
    const difference = source[start + index]! - other[index]!;
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}
