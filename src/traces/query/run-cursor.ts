import { invalidField } from "../../platform/errors.ts";
import type { Cursor, Page, SortField } from "../storage/run-query.ts";

const cursorPattern =
  /^(\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z)\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:\/(.*))?$/s;

export function writeCursor({ startTime, id, key }: Cursor): string {
  return Buffer.from(`${startTime}/${id}${key === undefined ? "" : `/${key}`}`).toString("base64url");
}

/** `sorted`: whether the list is sorted by something else than the start, and whether that is a number. */
export function readCursor(
  text: string,
  loc: (string | number)[],
  sorted: { isSorted: boolean; isNumber?: boolean } = { isSorted: false },
): Cursor {
  const found = cursorPattern.exec(Buffer.from(text, "base64url").toString());
  if (
    !found ||
    (found[3] !== undefined) !== sorted.isSorted ||
    (sorted.isNumber && Number.isNaN(Number(found[3])))
  ) {
    throw invalidField(loc, "This server did not return this cursor. Start again without a cursor.", text);
  }
  const place = { startTime: found[1]!, id: found[2]! };
  return found[3] === undefined ? place : { ...place, key: found[3] };
}

const textFields: readonly SortField[] = ["name", "status"];

/** What the cursors of a page hold beside the start. */
export function sortKindOf({ sort }: Page): { isSorted: boolean; isNumber: boolean } {
  const isSorted = sort !== undefined && sort !== "start_time";
  return { isSorted, isNumber: isSorted && !textFields.includes(sort) };
}
