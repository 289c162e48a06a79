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

  /** In two halves: numbers of the language are exact to 53 bits only, and its large ones are slow. */
  int64(high: number, low: number): void {
    this.reserve(8);
    this.#view.setUint32(this.length, low, true);
    this.#view.setInt32(this.length + 4, high, true);
    this.length += 8;
  }

  float64(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  bytes(source: Buffer, start: number, end: number): void {
    const target = this.reserve(end - start);
    // Few bytes are copied faster than a call into the runtime is made.
    if (end - start < 24)
      for (let from = start, to = this.length; from < end; ) target[to++] = source[from++]!;
    else source.copy(target, this.length, start, end);
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

  /** Hands the whole memory over, and continues in another, from a place in it. */
  exchange(next: Buffer, length: number): Buffer {
    const taken = this.#bytes;
    this.#bytes = next;
    this.#view = new DataView(next.buffer, next.byteOffset, next.length);
    this.length = length;
    return taken;
  }
}
