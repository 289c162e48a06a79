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
import { uuidText, uuidTextBytes } from "./uuid-text.ts";
import { TextRange } from "./value-range.ts";

/** Definition levels of an optional list of optional texts. */
const level = { nullList: 0, emptyList: 1, nullElement: 2, element: 3 } as const;

/** A native list of texts, from the database's one-dimensional array of texts or uuids. */
export class ListColumn implements Column {
  readonly spec: ColumnSpec;
  readonly #compress: ColumnOptions["compress"];
  readonly #pageBytes: number;
  readonly #values = new ByteBuffer(4096);
  readonly #definitions = new Levels();
  readonly #repetitions = new Levels();
  #range = new TextRange();
  #pages: Page[] = [];
  #count = 0;
  #nulls = 0;

  constructor(spec: ColumnSpec, options: ColumnOptions) {
    this.spec = spec;
    this.#compress = options.compress;
    this.#pageBytes = options.pageBytes;
  }

  append(source: Buffer, start: number): void {
    // A page begins with a new row, so a full one ends here.
    if (this.#values.length >= this.#pageBytes) this.#finishPage();
    const dimensions = source.readInt32BE(start);
    const size = dimensions === 0 ? 0 : source.readInt32BE(start + 12);
    if (size === 0) {
      this.#push(0, level.emptyList);
      return;
    }
    let at = start + 20;
    for (let index = 0; index < size; index++) {
      const length = source.readInt32BE(at);
      at += 4;
      const repetition = index === 0 ? 0 : 1;
      if (length < 0) {
        this.#push(repetition, level.nullElement);
        continue;
      }
      this.#definitions.push(level.element);
      this.#repetitions.push(repetition);
      this.#count++;
      this.#element(source, at, length);
      at += length;
    }
  }

  appendNull(): void {
    this.#push(0, level.nullList);
  }

  finishChunk(): ColumnChunk {
    if (this.#definitions.count > 0) this.#finishPage();
    const bounds = this.#range.bounds();
    const chunk = {
      spec: this.spec,
      pages: this.#pages,
      values: this.#count,
      nulls: this.#nulls,
      min: bounds?.min,
      max: bounds?.max,
    };
    this.#pages = [];
    this.#count = 0;
    this.#nulls = 0;
    this.#range = new TextRange();
    return chunk;
  }

  #push(repetition: number, definition: number): void {
    this.#repetitions.push(repetition);
    this.#definitions.push(definition);
    this.#count++;
    this.#nulls++;
  }

  #element(source: Buffer, start: number, length: number): void {
    const out = this.#values;
    if (this.spec.kind === "uuid_list") {
      out.uint32(uuidTextBytes);
      const target = out.reserve(uuidTextBytes);
      uuidText(source, start, target, out.length);
      this.#range.add(target, out.length, out.length + uuidTextBytes);
      out.length += uuidTextBytes;
    } else {
      out.uint32(length);
      out.bytes(source, start, start + length);
      this.#range.add(source, start, start + length);
    }
  }

  #finishPage(): void {
    const page = new ByteBuffer(this.#values.length + 64 + this.#definitions.count);
    this.#repetitions.encodeSized(page, 1);
    this.#definitions.encodeSized(page, 2);
    page.bytes(this.#values.view(), 0, this.#values.length);
    this.#pages.push({
      kind: "data",
      values: this.#definitions.count,
      encoding: encodings.plain,
      rawBytes: page.length,
      body: this.#compress(page.view()),
    });
    this.#definitions.clear();
    this.#repetitions.clear();
    this.#values.length = 0;
  }
}
