const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
/** PostgreSQL counts microseconds from the beginning of 2000. */
const epochMs = Date.UTC(2000, 0, 1);
const highBits = 4_294_967_296;

const elementTypes = { int4: 23, text: 25, uuid: 2950, numeric: 1700 };

/**
 * Rows in the binary format of COPY, written straight into one buffer: nothing is quoted here and nothing parsed
 * there. The fields of a row are written in the order of the columns.
 */
export class CopyEncoder {
  #bytes: Buffer;
  #at: number;
  /** Most times of a batch are of one day. */
  #day = "";
  #dayMicros = 0;

  /** `reuse`: the buffer of an earlier encoder whose bytes have been sent; it is taken where it is large enough. */
  constructor(expectedBytes: number, reuse?: Buffer) {
    const bytes = expectedBytes + 1_024;
    this.#bytes = reuse && reuse.byteLength >= bytes ? reuse : Buffer.allocUnsafe(bytes);
    this.#at = signature.copy(this.#bytes);
  }

  /** What was written into, for the next encoder. */
  get buffer(): Buffer {
    return this.#bytes;
  }

  row(fields: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeInt16BE(fields, this.#at);
  }

  null(): void {
    this.#room(4);
    this.#at = this.#bytes.writeInt32BE(-1, this.#at);
  }

  bytes(value: Buffer | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(4 + value.byteLength);
    this.#int4(value.byteLength);
    this.#at += value.copy(this.#bytes, this.#at);
  }

  text(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#prefixed(value);
  }

  /** Text that is JSON already. */
  jsonb(value: string): void {
    this.#room(5 + value.length * 3);
    const start = this.#at;
    this.#bytes[start + 4] = 1;
    const length = this.#bytes.write(value, start + 5);
    this.#bytes.writeInt32BE(length + 1, start);
    this.#at = start + 5 + length;
  }

  uuid(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(20);
    this.#uuid(value);
  }

  boolean(value: boolean): void {
    this.#room(5);
    this.#int4(1);
    this.#bytes[this.#at++] = value ? 1 : 0;
  }

  int4(value: number): void {
    this.#room(8);
    this.#int4(4);
    this.#int4(value);
  }

  /** Whole numbers up to 2^53. */
  int8(value: number): void {
    this.#room(12);
    this.#int4(8);
    this.#int8(value);
  }

  /** A whole number, or a big one that counts units of 10^-18. */
  numeric(value: number | bigint | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(maxNumericBytes);
    this.#numeric(value);
  }

  /** From UTC text with microseconds, `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  timestamp(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(12);
    this.#int4(8);
    const day = value.slice(0, 10);
    if (day !== this.#day) {
      this.#day = day;
      this.#dayMicros = (Date.parse(day) - epochMs) * 1_000;
    }
    const seconds = digits(value, 11, 2) * 3_600 + digits(value, 14, 2) * 60 + digits(value, 17, 2);
    this.#int8(this.#dayMicros + seconds * 1e6 + digits(value, 20, 6));
  }

  /** Bits that `fill` sets in a buffer of zeros, whose first bit is the highest one of its first byte. */
  bits(bytes: number, fill: (bits: Buffer) => void): void {
    this.#room(8 + bytes);
    this.#int4(4 + bytes);
    this.#int4(bytes * 8);
    const bits = this.#bytes.subarray(this.#at, this.#at + bytes);
    fill(bits.fill(0));
    this.#at += bytes;
  }

  uuidArray(values: readonly string[]): void {
    this.#array("uuid", values.length, values.length * 20, () => {
      for (const value of values) this.#uuid(value);
    });
  }

  textArray(values: readonly string[]): void {
    this.#array("text", values.length, 0, () => {
      for (const value of values) this.#prefixed(value);
    });
  }

  int4Array(values: readonly number[]): void {
    this.#array("int4", values.length, values.length * 8, () => {
      for (const value of values) {
        this.#int4(4);
        this.#int4(value);
      }
    });
  }

  numericArray(values: readonly (number | bigint | null)[] | null): void {
    if (values === null) {
      this.null();
      return;
    }
    this.#array("numeric", values.length, values.length * maxNumericBytes, () => {
      for (const value of values) {
        if (value === null) this.#int4(-1);
        else this.#numeric(value);
      }
    });
  }

  /** Everything, with the trailer; the encoder is used up. */
  finish(): Buffer {
    this.#room(2);
    this.#at = this.#bytes.writeInt16BE(-1, this.#at);
    return this.#bytes.subarray(0, this.#at);
  }

  #array(type: keyof typeof elementTypes, length: number, bytes: number, write: () => void): void {
    this.#room(24 + bytes);
    const start = this.#at;
    this.#at += 4;
    this.#int4(length === 0 ? 0 : 1);
    // Whether there are nulls; the server does not rely on it.
    this.#int4(1);
    this.#int4(elementTypes[type]);
    if (length > 0) {
      this.#int4(length);
      this.#int4(1);
      write();
    }
    this.#bytes.writeInt32BE(this.#at - start - 4, start);
  }

  #prefixed(value: string): void {
    this.#room(4 + value.length * 3);
    const length = this.#bytes.write(value, this.#at + 4);
    this.#bytes.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
  }

  #uuid(value: string): void {
    this.#int4(16);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = 0; index < 36; index += 2) {
      if (value.charCodeAt(index) === 0x2d) index += 1;
      bytes[at++] = (digitOf(value.charCodeAt(index)) << 4) | digitOf(value.charCodeAt(index + 1));
    }
    this.#at = at;
  }

  /** Groups of four decimal digits, the first of which counts 10000^weight; zeros at either end are left out. */
  #numeric(value: number | bigint): void {
    const isNegative = value < 0;
    const size = isNegative ? -value : value;
    let groups: number[];
    let weight: number;
    let decimals = 0;
    if (typeof size === "number") {
      groups = groupsOf(size);
      weight = groups.length - 1;
    } else {
      const whole = groupsOf(Number(size / attosPerUnit));
      // Twenty decimals are five groups.
      const fraction = groupsOf(Number((size % attosPerUnit) / 10_000_000_000n), 2);
      fraction.push(...groupsOf(Number(size % 10_000_000_000n) * 100, 3));
      groups = [...whole, ...fraction];
      weight = whole.length - 1;
      while (groups.length > whole.length && groups.at(-1) === 0) groups.pop();
      decimals = Math.min(18, (groups.length - whole.length) * 4);
    }
    while (groups.length > 0 && groups[0] === 0) {
      groups.shift();
      weight -= 1;
    }
    this.#int4(8 + groups.length * 2);
    const header = [groups.length, groups.length === 0 ? 0 : weight, isNegative ? 0x4000 : 0, decimals];
    for (const part of [...header, ...groups]) {
      this.#bytes[this.#at++] = (part >> 8) & 0xff;
      this.#bytes[this.#at++] = part & 0xff;
    }
  }

  #int4(value: number): void {
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  #int8(value: number): void {
    const high = Math.floor(value / highBits);
    this.#bytes.writeInt32BE(high, this.#at);
    this.#at = this.#bytes.writeUInt32BE(value - high * highBits, this.#at + 4);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.byteLength) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.byteLength * 2, this.#at + bytes));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

const attosPerUnit = 10n ** 18n;
/** Of a number below 10^15 with eighteen decimals. */
const maxNumericBytes = 40;

/** Of a whole number, the highest first; at least so many. */
function groupsOf(value: number, count = 0): number[] {
  const groups: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 10_000)) groups.push(rest % 10_000);
  while (groups.length < count) groups.push(0);
  return groups.reverse();
}

/** The number that stands at a place of a text. */
function digits(text: string, start: number, length: number): number {
  let value = 0;
  for (let index = start; index < start + length; index++) value = value * 10 + text.charCodeAt(index) - 0x30;
  return value;
}

/** Of a lower-case hexadecimal digit. */
function digitOf(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
