import type { BlockMemory } from "./block-memory.ts";
import {
  type Column,
  type ColumnChunk,
  type ColumnOptions,
  type ColumnSpec,
  type Compress,
  encodings,
  type Page,
} from "./column.ts";
import { DictionaryColumn } from "./dictionary-column.ts";
import { FlatColumn } from "./flat-column.ts";
import { ListColumn } from "./list-column.ts";
import { PageBodies } from "./page-bodies.ts";
import type { PageMemory } from "./page-memory.ts";

export type RowGroup = {
  rows: number;
  rawBytes: number;
  chunks: ColumnChunk[];
  /** When all of it is written: the memory of its pages goes to the next ones. */
  release(): void;
};

/** Of pages being filled, and of those that are compressed and wait for their row group. */
export type GroupMemory = { pages: PageMemory; bodies: BlockMemory };

export type RowGroupOptions = { pageBytes: number; compress: Compress; memory: GroupMemory };

type ConstantColumn = { column: Column; value: Buffer };

/** Collects rows column by column. `cut` hands over the rows so far and starts a new group, without waiting. */
export class RowGroupBuffer {
  readonly #specs: readonly ColumnSpec[];
  /** In the order of the fields of a row; null: the field is not written. */
  readonly #fields: readonly (Column | null)[];
  readonly #columns: Column[] = [];
  readonly #constants: ConstantColumn[] = [];
  readonly #memory: GroupMemory;
  #bodies: PageBodies;
  rows = 0;
  #rawBytes = 0;

  /** `fields` names what each field of a row is; columns without a field must be constants. */
  constructor(specs: readonly ColumnSpec[], fields: readonly string[], group: RowGroupOptions) {
    this.#specs = specs;
    this.#memory = group.memory;
    this.#bodies = new PageBodies(group.memory.bodies);
    const options: ColumnOptions = {
      pageBytes: group.pageBytes,
      memory: group.memory.pages,
      compress: (page) => {
        const bodies = this.#bodies;
        const body = group.compress(page);
        if (!(body instanceof Promise)) return bodies.keep(body);
        const kept = body.then((bytes) => bodies.keep(bytes));
        // Writing the row group rejects with it; that may never happen, and it must not count as unhandled.
        kept.catch(() => {});
        return kept;
      },
    };
    const byName = new Map<string, Column>();
    for (const spec of specs) {
      const column = createColumn(spec, options);
      this.#columns.push(column);
      if (spec.constant === undefined) byName.set(spec.name, column);
      else this.#constants.push({ column, value: Buffer.from(spec.constant, "utf8") });
    }
    this.#fields = fields.map((name) => byName.get(name) ?? null);
    for (const name of byName.keys()) {
      if (!fields.includes(name)) throw new Error(`The rows have no field for the column ${name}.`);
    }
  }

  get rawBytes(): number {
    return this.#rawBytes;
  }

  /** One row as a binary COPY sends it, from its field count on. */
  append(source: Buffer, start: number, end: number): void {
    const fields = this.#fields;
    const count = source.readInt16BE(start);
    if (count !== fields.length) {
      throw new Error(`A row has ${count} fields where ${fields.length} were expected.`);
    }
    let at = start + 2;
    for (let index = 0; index < count; index++) {
      const length = source.readInt32BE(at);
      at += 4;
      const column = fields[index]!;
      if (length < 0) {
        column?.appendNull();
        continue;
      }
      column?.append(source, at, length);
      at += length;
    }
    if (at !== end) throw new Error(`A row ends at byte ${at - start} instead of ${end - start}.`);
    this.rows++;
    this.#rawBytes += end - start;
  }

  cut(): RowGroup {
    for (const { column, value } of this.#constants) {
      for (let row = 0; row < this.rows; row++) column.append(value, 0, value.length);
    }
    const chunks = this.#columns.map((column) => column.finishChunk());
    const bodies = this.#bodies;
    this.#bodies = new PageBodies(this.#memory.bodies);
    const group = { rows: this.rows, rawBytes: this.#rawBytes, chunks, release: () => bodies.release() };
    this.rows = 0;
    this.#rawBytes = 0;
    return group;
  }

  get specs(): readonly ColumnSpec[] {
    return this.#specs;
  }
}

function createColumn(spec: ColumnSpec, options: ColumnOptions): Column {
  if (spec.kind === "text_list" || spec.kind === "uuid_list") return new ListColumn(spec, options);
  if (spec.kind === "text" && (spec.dictionary || spec.constant !== undefined)) {
    return new DictionaryColumn(spec, options);
  }
  return new FlatColumn(spec, options);
}

/** What a chunk's metadata lists: the levels' encoding too. */
export function encodingsOf(pages: readonly Page[]): number[] {
  return [...new Set([encodings.rle, ...pages.map((page) => page.encoding)])];
}
