import { isUtf8 } from "node:buffer";

const chunkBytes = 256 * 1024;
/** What is larger is not copied into a chunk but is one. */
const largeBytes = 64 * 1024;
const maxVarintBytes = 5;
const low64 = (1n << 64n) - 1n;
const millisecondsOf = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/;

/** The values of hexadecimal digits by their codes. */
const digits = new Uint8Array(128);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  digits[digit.charCodeAt(0)] = value;
  digits[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Rows to insert, in ClickHouse's format RowBinary: values one after the other, without names or types. */
export class RowBinaryWriter {
  readonly #chunks: Buffer[] = [];
  #chunk = Buffer.allocUnsafe(chunkBytes);
  #length = 0;

  /** Before a value of a column that may be null: the null itself, or that the value follows. */
  isNull(isNull: boolean): void {
    this.uint8(isNull ? 1 : 0);
  }

  bool(value: boolean): void {
    this.uint8(value ? 1 : 0);
  }

  uint8(value: number): void {
    this.#room(1);
    this.#chunk[this.#length++] = value;
  }

  int32(value: number): void {
    this.#room(4);
    this.#length = this.#chunk.writeInt32LE(value, this.#length);
  }

  /** A safe integer. */
  int64(value: number): void {
    this.#bigInt64(BigInt(value));
  }

  /** Before the values of a list. */
  length(value: number): void {
    this.#room(maxVarintBytes);
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#chunk[this.#length++] = (rest % 128) | 128;
    this.#chunk[this.#length++] = rest;
  }

  text(value: string): void {
    const bytes = Buffer.byteLength(value);
    this.length(bytes);
    if (bytes > largeBytes) this.#own(Buffer.from(value));
    else {
      this.#room(bytes);
      this.#length += this.#chunk.write(value, this.#length);
    }
  }

  /** A text as bytes; what is not UTF-8 in it is replaced, as it would be if it were read. */
  bytes(sent: Buffer): void {
    const value = isUtf8(sent) ? sent : Buffer.from(sent.toString("utf8"));
    this.length(value.length);
    if (value.length > largeBytes) this.#own(value);
    else {
      this.#room(value.length);
      this.#length += value.copy(this.#chunk, this.#length);
    }
  }

  /** Two numbers, each with its lowest byte first. */
  uuid(value: string): void {
    this.#room(16);
    let at = 0;
    for (const half of [7, 15]) {
      for (let byte = 0; byte < 8; byte++) {
        if (value.charCodeAt(at) === 45) at += 1;
        this.#chunk[this.#length + half - byte] =
          digits[value.charCodeAt(at)]! * 16 + digits[value.charCodeAt(at + 1)]!;
        at += 2;
      }
    }
    this.#length += 16;
  }

  /** `DateTime64(6)` of a text like `2026-01-31 23:59:59.123456`, in UTC. */
  time(value: string): void {
    const parts = millisecondsOf.exec(value);
    if (!parts) throw new Error(`"${value}" is no time that ClickHouse writes.`);
    const [, year, month, day, hour, minute, second, fraction = ""] = parts;
    const whole = Date.UTC(+year!, +month! - 1, +day!, +hour!, +minute!, +second!) * 1000;
    const micros = Number(fraction.padEnd(6, "0"));
    // The last years that can be stored are beyond what a number holds exactly.
    this.#bigInt64(
      Number.isSafeInteger(whole + micros) ? BigInt(whole + micros) : BigInt(whole) + BigInt(micros),
    );
  }

  /** `Decimal(38, scale)` of plain decimal text. */
  decimal(value: string, scale: number): void {
    const [whole = "", fraction = ""] = value.split(".");
    const scaled = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"));
    this.#room(16);
    this.#chunk.writeBigUInt64LE(scaled & low64, this.#length);
    this.#chunk.writeBigInt64LE(scaled >> 64n, this.#length + 8);
    this.#length += 16;
  }

  /** All that was written, in order. */
  finish(): Buffer[] {
    this.#close();
    return this.#chunks;
  }

  #bigInt64(value: bigint): void {
    this.#room(8);
    this.#length = this.#chunk.writeBigInt64LE(value, this.#length);
  }

  #own(bytes: Buffer): void {
    this.#close();
    this.#chunks.push(bytes);
  }

  #room(bytes: number): void {
    if (this.#length + bytes > this.#chunk.length) this.#close();
  }

  #close(): void {
    if (this.#length === 0) return;
    this.#chunks.push(this.#chunk.subarray(0, this.#length));
    // The rest of a chunk is for what comes next.
    const rest = this.#chunk.subarray(this.#length);
    this.#chunk = rest.length > largeBytes ? rest : Buffer.allocUnsafe(chunkBytes);
    this.#length = 0;
  }
}
