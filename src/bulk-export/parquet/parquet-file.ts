import { version } from "../../platform/package-facts.ts";
import type { ColumnChunk, ColumnKind, ColumnSpec, Page } from "./column.ts";
import { encodingsOf, type RowGroup } from "./row-group.ts";
import { ThriftWriter } from "./thrift-compact.ts";

/** In the form from which readers know what wrote a file. */
const createdBy = `treadle version ${version()} (build 1)`;

/** Where the bytes of a file go, in order. They are valid until the call is answered: their memory is used again. */
export type FileSink = { write(bytes: Buffer): Promise<void> };

const magic = Buffer.from("PAR1", "latin1");
const pageTypes = { data: 0, dictionary: 2 } as const;
const physical = { bool: 0, int64: 2, double: 5, bytes: 6 } as const;
const repetition = { required: 0, optional: 1, repeated: 2 } as const;
const converted = { utf8: 0, list: 3, timestampMicros: 10 } as const;
const encodingRle = 3;

/** What the footer holds of a chunk; its pages are not kept until then. */
type WrittenChunk = Omit<ColumnChunk, "pages"> & {
  encodings: number[];
  start: number;
  dictionaryOffset: number | undefined;
  dataOffset: number;
  rawBytes: number;
  bytes: number;
};
type WrittenGroup = { rows: number; start: number; rawBytes: number; bytes: number; chunks: WrittenChunk[] };

/**
 * Lays out a Parquet file: version 1 pages and encodings, which every engine reads. Our own because rows come as
 * the database's bytes and texts enter a page as they are: measured in bench/bulk-export against other ways.
 */
export class ParquetFile {
  readonly #specs: readonly ColumnSpec[];
  readonly #codecId: number;
  readonly #sink: FileSink;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #groups: WrittenGroup[] = [];
  #offset = 0;

  constructor(options: {
    specs: readonly ColumnSpec[];
    codecId: number;
    sink: FileSink;
    metadata?: Readonly<Record<string, string>>;
  }) {
    this.#specs = options.specs;
    this.#codecId = options.codecId;
    this.#sink = options.sink;
    this.#metadata = options.metadata ?? {};
  }

  get bytes(): number {
    return this.#offset;
  }

  get rows(): number {
    return this.#groups.reduce((sum, group) => sum + group.rows, 0);
  }

  /** The group's memory is free for another one after this. */
  async writeGroup(group: RowGroup): Promise<void> {
    if (this.#offset === 0) await this.#write(magic);
    const start = this.#offset;
    const chunks: WrittenChunk[] = [];
    for (const chunk of group.chunks) chunks.push(await this.#writeChunk(chunk));
    this.#groups.push({
      rows: group.rows,
      start,
      chunks,
      rawBytes: chunks.reduce((sum, chunk) => sum + chunk.rawBytes, 0),
      bytes: this.#offset - start,
    });
    group.release();
  }

  /** The footer; without it the file cannot be read. */
  async finish(): Promise<void> {
    if (this.#offset === 0) await this.#write(magic);
    const footer = this.#footer();
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    await this.#write(Buffer.concat([footer, length, magic]));
  }

  async #writeChunk(chunk: ColumnChunk): Promise<WrittenChunk> {
    const start = this.#offset;
    let dictionaryOffset: number | undefined;
    let dataOffset: number | undefined;
    let rawBytes = 0;
    for (const page of chunk.pages) {
      const body = await page.body;
      const header = pageHeader(page, body.length);
      if (page.kind === "dictionary") dictionaryOffset = this.#offset;
      else dataOffset ??= this.#offset;
      rawBytes += header.length + page.rawBytes;
      await this.#write(header);
      await this.#write(body);
    }
    const { pages, ...described } = chunk;
    return {
      ...described,
      encodings: encodingsOf(pages),
      start,
      dictionaryOffset,
      dataOffset: dataOffset ?? start,
      rawBytes,
      bytes: this.#offset - start,
    };
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#offset += bytes.length;
    await this.#sink.write(bytes);
  }

  #footer(): Buffer {
    const out = new ThriftWriter();
    out.element(() => {
      out.i32(1, 1);
      const elements: ((out: ThriftWriter) => void)[] = [
        (schema) => {
          schema.text(4, "runs");
          schema.i32(5, this.#specs.length);
        },
        ...this.#specs.flatMap(schemaElements),
      ];
      out.structList(2, elements, (write) => write(out));
      out.i64(3, this.rows);
      out.structList(4, [...this.#groups.entries()], ([ordinal, group]) => this.#group(out, ordinal, group));
      const pairs = Object.entries(this.#metadata);
      if (pairs.length > 0) {
        out.structList(5, pairs, ([key, value]) => {
          out.text(1, key);
          out.text(2, value);
        });
      }
      out.text(6, createdBy);
      // Without this, readers must ignore the bounds.
      out.structList(7, this.#specs, () => out.struct(1, () => {}));
    });
    return out.bytes();
  }

  #group(out: ThriftWriter, ordinal: number, group: WrittenGroup): void {
    out.structList(1, group.chunks, (written) => {
      out.i64(2, written.start);
      out.struct(3, () => this.#chunk(out, written));
    });
    out.i64(2, group.rawBytes);
    out.i64(3, group.rows);
    out.i64(5, group.start);
    out.i64(6, group.bytes);
    if (ordinal < 32_768) out.i16(7, ordinal);
  }

  #chunk(out: ThriftWriter, written: WrittenChunk): void {
    out.i32(1, physicalType(written.spec.kind));
    out.i32List(2, written.encodings);
    out.textList(3, pathOf(written.spec));
    out.i32(4, this.#codecId);
    out.i64(5, written.values);
    out.i64(6, written.rawBytes);
    out.i64(7, written.bytes);
    out.i64(9, written.dataOffset);
    if (written.dictionaryOffset !== undefined) out.i64(11, written.dictionaryOffset);
    out.struct(12, () => {
      out.i64(3, written.nulls);
      if (written.max !== undefined) out.binary(5, written.max);
      if (written.min !== undefined) out.binary(6, written.min);
    });
  }
}

function pageHeader(page: Page, bytes: number): Buffer {
  const out = new ThriftWriter();
  out.element(() => {
    out.i32(1, pageTypes[page.kind]);
    out.i32(2, page.rawBytes);
    out.i32(3, bytes);
    if (page.kind === "data") {
      out.struct(5, () => {
        out.i32(1, page.values);
        out.i32(2, page.encoding);
        out.i32(3, encodingRle);
        out.i32(4, encodingRle);
      });
    } else {
      out.struct(7, () => {
        out.i32(1, page.values);
        out.i32(2, page.encoding);
      });
    }
  });
  return out.bytes();
}

function isList(kind: ColumnKind): boolean {
  return kind === "text_list" || kind === "uuid_list";
}

function pathOf(spec: ColumnSpec): string[] {
  return isList(spec.kind) ? [spec.name, "list", "element"] : [spec.name];
}

function physicalType(kind: ColumnKind): number {
  switch (kind) {
    case "bool":
      return physical.bool;
    case "int64":
    case "timestamp":
      return physical.int64;
    case "double":
      return physical.double;
    default:
      return physical.bytes;
  }
}

type SchemaElement = (out: ThriftWriter) => void;

/** Every column may be null, so that the schema never depends on the rows a file happens to hold. */
function schemaElements(spec: ColumnSpec): SchemaElement[] {
  if (!isList(spec.kind)) return [leaf(spec.name, spec.kind)];
  return [
    (out) => {
      out.i32(3, repetition.optional);
      out.text(4, spec.name);
      out.i32(5, 1);
      out.i32(6, converted.list);
      out.struct(10, () => out.struct(3, () => {}));
    },
    (out) => {
      out.i32(3, repetition.repeated);
      out.text(4, "list");
      out.i32(5, 1);
    },
    leaf("element", "text"),
  ];
}

function leaf(name: string, kind: ColumnKind): SchemaElement {
  return (out) => {
    out.i32(1, physicalType(kind));
    out.i32(3, repetition.optional);
    out.text(4, name);
    if (kind === "timestamp") {
      out.i32(6, converted.timestampMicros);
      out.struct(10, () =>
        out.struct(8, () => {
          out.bool(1, true);
          out.struct(2, () => out.struct(2, () => {}));
        }),
      );
    } else if (physicalType(kind) === physical.bytes) {
      out.i32(6, converted.utf8);
      out.struct(10, () => out.struct(1, () => {}));
    }
  };
}
