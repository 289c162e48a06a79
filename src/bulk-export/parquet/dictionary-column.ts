import { ByteBuffer } from "./byte-buffer.ts";
import {
  type Column,
  type ColumnChunk,
  type ColumnOptions,
  type ColumnSpec,
  encodings,
  type Page,
} from "./column.ts";
import { FlatColumn } from "./flat-column.ts";
import { bitWidthOf, Levels } from "./levels.ts";
import { TextNumbers } from "./text-numbers.ts";
import { TextRange } from "./value-range.ts";

const maxEntries = 4_096;
const maxEntryBytes = 256;

/**
 * Texts of which few differ: each is kept once per row group and rows name it by number. When there are too many
 * different ones after all, what was taken so far is written out plainly and the rest of the row group with it.
 */
export class DictionaryColumn implements Column {
  readonly spec: ColumnSpec;
  readonly #options: ColumnOptions;
  readonly #present = new Levels();
  readonly #indexes = new Levels({ wide: true });
  readonly #numbers = new TextNumbers(maxEntries);
  #plain: FlatColumn | undefined;

  constructor(spec: ColumnSpec, options: ColumnOptions) {
    this.spec = spec;
    this.#options = options;
  }

  append(source: Buffer, start: number, length: number): void {
    if (this.#plain) {
      this.#plain.append(source, start, length);
      return;
    }
    const number = length > maxEntryBytes ? -1 : this.#numbers.numberOf(source, start, length);
    if (number < 0) this.#spill().append(source, start, length);
    else this.#push(number);
  }

  appendNull(): void {
    if (this.#plain) this.#plain.appendNull();
    else this.#present.push(0);
  }

  finishChunk(): ColumnChunk {
    const chunk = this.#plain ? this.#plain.finishChunk() : this.#finishDictionary();
    this.#plain = undefined;
    this.#reset();
    return chunk;
  }

  #push(number: number): void {
    this.#present.push(1);
    this.#indexes.push(number);
  }

  #finishDictionary(): ColumnChunk {
    const pages: Page[] = [];
    const range = new TextRange();
    const dictionary = new ByteBuffer(1_024);
    const { entries } = this.#numbers;
    for (const entry of entries) {
      dictionary.uint32(entry.length);
      dictionary.bytes(entry, 0, entry.length);
      range.add(entry, 0, entry.length);
    }
    pages.push(this.#page("dictionary", entries.length, encodings.plain, dictionary));
    const data = new ByteBuffer(1024 + this.#indexes.count * 2);
    this.#present.encodeSized(data, 1);
    // A width of nothing is allowed, and refused by some readers.
    const width = Math.max(1, bitWidthOf(Math.max(0, entries.length - 1)));
    data.byte(width);
    if (this.#indexes.count > 0) this.#indexes.encodeInto(data, width);
    pages.push(this.#page("data", this.#present.count, encodings.rleDictionary, data));
    const bounds = range.bounds();
    return {
      spec: this.spec,
      pages,
      values: this.#present.count,
      nulls: this.#present.count - this.#indexes.count,
      min: bounds?.min,
      max: bounds?.max,
    };
  }

  #page(kind: Page["kind"], values: number, encoding: number, bytes: ByteBuffer): Page {
    return {
      kind,
      values,
      encoding,
      rawBytes: bytes.length,
      body: this.#options.compress(bytes.view()),
    };
  }

  #spill(): FlatColumn {
    const plain = new FlatColumn(this.spec, this.#options);
    for (let row = 0, value = 0; row < this.#present.count; row++) {
      if (this.#present.at(row) === 0) plain.appendNull();
      else {
        const entry = this.#numbers.entries[this.#indexes.at(value++)]!;
        plain.append(entry, 0, entry.length);
      }
    }
    this.#plain = plain;
    return plain;
  }

  #reset(): void {
    this.#present.clear();
    this.#indexes.clear();
    this.#numbers.clear();
  }
}
