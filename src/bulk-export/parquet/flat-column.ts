import { ByteBuffer } from "./byte-buffer.ts";
import {
  type Column,
  type ColumnChunk,
  type ColumnOptions,
  type ColumnSpec,
  encodings,
  type Page,
} from "./column.ts";
import { Levels } from "./levels.ts";
import { replaceLoneSurrogates } from "./lone-surrogates.ts";
import { levelsRoom } from "./page-memory.ts";
import { uuidText, uuidTextBytes } from "./uuid-text.ts";
import { BoolRange, DoubleRange, Int64Range, type Range, TextRange } from "./value-range.ts";

/** Microseconds from 1970 to 2000, where the database's times begin, in two halves. */
const databaseEpoch = 946_684_800_000_000;
const twoTo32 = 4_294_967_296;
const epochHalves = { high: Math.floor(databaseEpoch / twoTo32), low: databaseEpoch % twoTo32 };
const noOffset = { high: 0, low: 0 };

/**
 * Pages that fill less of it are copied: a row group ends in the middle of a page of every column, and columns of few
 * bytes would each hold memory made for large ones.
 */
const largePageShare = 1 / 2;

/** A page of raw bytes is compressed and kept; its levels mark which rows are null. */
export class FlatColumn implements Column {
  readonly spec: ColumnSpec;
  readonly #options: ColumnOptions;
  /** With room in front, where the levels go when the page is full. */
  readonly #values: ByteBuffer;
  readonly #levels = new Levels();
  readonly #write: ValueWriter;
  #pages: Page[] = [];
  #rows = 0;
  #nulls = 0;

  constructor(spec: ColumnSpec, options: ColumnOptions) {
    this.spec = spec;
    this.#options = options;
    this.#values = new ByteBuffer(levelsRoom + 4096);
    this.#values.length = levelsRoom;
    this.#write = spec.json ? jsonWriter(this.#values) : valueWriter(spec.kind, this.#values);
  }

  append(source: Buffer, start: number, length: number): void {
    this.#levels.push(1);
    this.#rows++;
    this.#write.append(source, start, length);
    if (this.#values.length >= levelsRoom + this.#options.pageBytes) this.#finishPage();
  }

  appendNull(): void {
    this.#levels.push(0);
    this.#rows++;
    this.#nulls++;
  }

  finishChunk(): ColumnChunk {
    if (this.#levels.count > 0) this.#finishPage();
    const bounds = this.#write.range()?.bounds();
    const chunk = {
      spec: this.spec,
      pages: this.#pages,
      values: this.#rows,
      nulls: this.#nulls,
      min: bounds?.min,
      max: bounds?.max,
    };
    this.#pages = [];
    this.#rows = 0;
    this.#nulls = 0;
    this.#write.reset();
    return chunk;
  }

  #finishPage(): void {
    this.#write.flush();
    const levels = new ByteBuffer(32 + Math.ceil(this.#levels.count / 8));
    this.#levels.encodeSized(levels, 1);
    const { page, body } = this.#compressPage(levels.view());
    this.#pages.push({
      kind: "data",
      values: this.#levels.count,
      encoding: encodings.plain,
      rawBytes: page,
      body,
    });
    this.#levels.clear();
  }

  /** A large page is compressed where it is, its levels put in front of its values. */
  #compressPage(levels: Buffer): { page: number; body: Promise<Buffer> | Buffer } {
    const { memory, compress } = this.#options;
    const values = this.#values;
    const end = values.length;
    if (end < this.#options.pageBytes * largePageShare || levels.length > levelsRoom) {
      const page = Buffer.concat([levels, values.view().subarray(levelsRoom)]);
      values.length = levelsRoom;
      return { page: page.length, body: compress(page) };
    }
    const taken = values.exchange(memory.take(), levelsRoom);
    const start = levelsRoom - levels.length;
    levels.copy(taken, start);
    const body = compress(taken.subarray(start, end));
    memory.giveBackAfter(taken, body);
    return { page: end - start, body };
  }
}

type ValueWriter = {
  append(source: Buffer, start: number, length: number): void;
  flush(): void;
  range(): Range | undefined;
  reset(): void;
};

function valueWriter(kind: ColumnSpec["kind"], out: ByteBuffer): ValueWriter {
  switch (kind) {
    case "uuid":
      return uuidWriter(out);
    case "int64":
      return int64Writer(out, noOffset);
    case "timestamp":
      return int64Writer(out, epochHalves);
    case "double":
      return doubleWriter(out);
    case "bool":
      return boolWriter(out);
    default:
      return textWriter(out);
  }
}

const nothing = () => {};

function textWriter(out: ByteBuffer): ValueWriter {
  let range = new TextRange();
  return {
    append(source, start, length) {
      out.uint32(length);
      out.bytes(source, start, start + length);
      range.add(source, start, start + length);
    },
    flush: nothing,
    range: () => range,
    reset() {
      range = new TextRange();
    },
  };
}

function jsonWriter(out: ByteBuffer): ValueWriter {
  const writer = textWriter(out);
  return {
    ...writer,
    append(source, start, length) {
      replaceLoneSurrogates(source, start, start + length);
      writer.append(source, start, length);
    },
  };
}

function uuidWriter(out: ByteBuffer): ValueWriter {
  let range = new TextRange();
  return {
    append(source, start) {
      out.uint32(uuidTextBytes);
      const target = out.reserve(uuidTextBytes);
      uuidText(source, start, target, out.length);
      range.add(target, out.length, out.length + uuidTextBytes);
      out.length += uuidTextBytes;
    },
    flush: nothing,
    range: () => range,
    reset() {
      range = new TextRange();
    },
  };
}

function int64Writer(out: ByteBuffer, offset: { high: number; low: number }): ValueWriter {
  let range = new Int64Range();
  return {
    append(source, start) {
      const low = source.readUInt32BE(start + 4) + offset.low;
      const carry = low >= twoTo32 ? 1 : 0;
      const high = (source.readInt32BE(start) + offset.high + carry) | 0;
      const lowHalf = low - carry * twoTo32;
      out.int64(high, lowHalf);
      range.add(high, lowHalf);
    },
    flush: nothing,
    range: () => range,
    reset() {
      range = new Int64Range();
    },
  };
}

function doubleWriter(out: ByteBuffer): ValueWriter {
  let range = new DoubleRange();
  return {
    append(source, start) {
      const value = source.readDoubleBE(start);
      out.float64(value);
      range.add(value);
    },
    flush: nothing,
    range: () => range,
    reset() {
      range = new DoubleRange();
    },
  };
}

/** Eight to a byte, the lowest bit first. */
function boolWriter(out: ByteBuffer): ValueWriter {
  let range = new BoolRange();
  let pending = 0;
  let bits = 0;
  const flush = () => {
    if (bits > 0) out.byte(pending);
    pending = 0;
    bits = 0;
  };
  return {
    append(source, start) {
      const value = source[start] === 1;
      if (value) pending |= 1 << bits;
      if (++bits === 8) flush();
      range.add(value);
    },
    flush,
    range: () => range,
    reset() {
      range = new BoolRange();
    },
  };
}
