import { copyOut } from "../../../../platform/db/copy/copy-out.ts";
import type { RowReader, RowSink } from "../../../../platform/db/copy/row-reader.ts";

/** A select without parameters: COPY takes none. */
type CopiedRows = { url: string; select: string };

export function copyReader(given: CopiedRows): RowReader {
  return { module: import.meta.url, given };
}

/** For the thread that writes the rows. */
export function readRows(given: CopiedRows, sink: RowSink): Promise<number> {
  return copyOut({ ...given, ...sink });
}
