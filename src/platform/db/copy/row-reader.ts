import type { CopyOutOptions } from "./copy-out.ts";

/** Where rows go. Each is in the form of a binary COPY, whatever engine it comes from: no value becomes an object. */
export type RowSink = Pick<CopyOutOptions, "onRow" | "onStart" | "signal">;

/**
 * What reads rows, as plain data: it crosses to the thread that takes them, which loads `module` there and calls its
 * `readRows` with `given`.
 */
export type RowReader = { module: string; given: unknown };

/** Answers the number of rows. An abort ends it at once. */
export type ReadRows<Given> = (given: Given, sink: RowSink) => Promise<number>;

export async function readRowsBy({ module, given }: RowReader, sink: RowSink): Promise<number> {
  const { readRows } = (await import(module)) as { readRows: ReadRows<unknown> };
  return await readRows(given, sink);
}
