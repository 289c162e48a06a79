import type { PageMemory } from "./page-memory.ts";

/** What a column holds, and how the database sends it: each kind has one fixed Parquet type. */
export const columnKinds = [
  "text",
  "uuid",
  "int64",
  "double",
  "timestamp",
  "bool",
  "text_list",
  "uuid_list",
] as const;
export type ColumnKind = (typeof columnKinds)[number];

export type ColumnSpec = {
  name: string;
  kind: ColumnKind;
  /** Few different values are expected: they are kept once per row group. */
  dictionary?: boolean;
  /** Its text is JSON: what readers of JSON refuse is replaced. */
  json?: boolean;
  /** The same text in every row; nothing is read for it. */
  constant?: string;
};

export const encodings = { plain: 0, rle: 3, rleDictionary: 8 } as const;

export type Page = {
  kind: "data" | "dictionary";
  values: number;
  encoding: number;
  rawBytes: number;
  body: Promise<Buffer> | Buffer;
};

/** One column of one row group, complete but for pages that are still being compressed. */
export type ColumnChunk = {
  spec: ColumnSpec;
  pages: Page[];
  /** Values and nulls; for lists every element and every empty list counts. */
  values: number;
  nulls: number;
  min: Buffer | undefined;
  max: Buffer | undefined;
};

/** Takes fields as the database's binary COPY sends them. */
export type Column = {
  readonly spec: ColumnSpec;
  append(source: Buffer, start: number, length: number): void;
  appendNull(): void;
  finishChunk(): ColumnChunk;
};

/** The result is copied at once: it may be memory that is used again, or the page itself. */
export type Compress = (page: Buffer) => Promise<Buffer> | Buffer;

export type ColumnOptions = { pageBytes: number; compress: Compress; memory: PageMemory };
