/** Bytes that grow at the end. */
export class ByteBuffer {
  #bytes: Buffer;
  #view: DataView;
  length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Makes room for this many more and returns the whole underlying memory. */
  reserve(count: number): Buffer {
    const needed = this.length + count;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return this.#bytes;
  }

  byte(value: number): void {
    this.reserve(1)[this.length++] = value;
  }

  uint32(value: number): void {
    this.reserve(4);
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  int64(value: bigint): void {
    this.reserve(8);
    this.#view.setBigInt64(this.length, value, true);
    this.length += 8;
  }

  float64(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  bytes(source: Uint8Array, start: number, end: number): void {
    const target = this.reserve(end - start);
    if (end - start < 48) {
      // Cheaper than the call into the runtime.
      for (let from = start, to = this.length; from < end; from++, to++) target[to] = source[from]!;
    } else target.set(source.subarray(start, end), this.length);
    this.length += end - start;
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.byte(rest);
  }

  /** The written bytes; valid until the next write. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  copy(): Buffer {
    return Buffer.from(this.view());
  }

  /** Hands the memory over and starts anew. */
  take(nextCapacity: number): Buffer {
    const taken = this.view();
    this.#bytes = Buffer.allocUnsafeSlow(nextCapacity);
    this.#view = new DataView(this.#bytes.buffer);
    this.length = 0;
    return taken;
  }
}
