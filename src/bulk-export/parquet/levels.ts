import { ByteBuffer } from "./byte-buffer.ts";

/** Definition or repetition levels (or dictionary indexes) of one page: small numbers, one per value. */
export class Levels {
  #values: Uint32Array | Uint8Array;
  readonly #wide: boolean;
  count = 0;
  /** While every value is the same nothing is stored but the count. */
  #first = 0;
  #uniform = true;

  constructor(options: { wide?: boolean } = {}) {
    this.#wide = options.wide ?? false;
    this.#values = this.#allocate(0);
  }

  push(value: number): void {
    if (this.#uniform) {
      if (this.count === 0) this.#first = value;
      if (value === this.#first) {
        this.count++;
        return;
      }
      this.#uniform = false;
      if (this.count >= this.#values.length) this.#grow(this.count + 1);
      this.#values.fill(this.#first, 0, this.count);
    } else if (this.count === this.#values.length) this.#grow(this.count * 2);
    this.#values[this.count++] = value;
  }

  at(index: number): number {
    return this.#uniform ? this.#first : this.#values[index]!;
  }

  clear(): void {
    this.count = 0;
    this.#uniform = true;
  }

  /** The hybrid encoding: one run when all are the same, else everything bit-packed. */
  encodeInto(out: ByteBuffer, bitWidth: number): void {
    if (this.#uniform) {
      out.varint(this.count * 2);
      for (let shift = 0; shift < bitWidth; shift += 8) out.byte((this.#first >>> shift) & 0xff);
      return;
    }
    const groups = Math.ceil(this.count / 8);
    out.varint(groups * 2 + 1);
    const size = groups * bitWidth;
    const target = out.reserve(size);
    let position = out.length;
    let pending = 0;
    let bits = 0;
    for (let index = 0; index < groups * 8; index++) {
      // Indexes have at most 16 bits, so the shift never leaves 32.
      pending |= (index < this.count ? this.#values[index]! : 0) << bits;
      bits += bitWidth;
      while (bits >= 8) {
        target[position++] = pending & 0xff;
        pending >>>= 8;
        bits -= 8;
      }
    }
    out.length += size;
  }

  /** With the four-byte length that level data of a version 1 page starts with. */
  encodeSized(out: ByteBuffer, bitWidth: number): void {
    const body = new ByteBuffer(16 + Math.ceil((this.count * bitWidth) / 8));
    this.encodeInto(body, bitWidth);
    out.uint32(body.length);
    out.bytes(body.view(), 0, body.length);
  }

  #grow(size: number): void {
    const grown = this.#allocate(Math.max(1024, size, this.#values.length));
    grown.set(this.#values);
    this.#values = grown;
  }

  #allocate(size: number): Uint32Array | Uint8Array {
    return this.#wide ? new Uint32Array(size) : new Uint8Array(size);
  }
}

export function bitWidthOf(maxValue: number): number {
  return maxValue === 0 ? 0 : 32 - Math.clz32(maxValue);
}
