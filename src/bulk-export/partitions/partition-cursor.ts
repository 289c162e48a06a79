import { microsText, parseMicros } from "../../platform/exact-time.ts";
import { uuidText, uuidTextBytes } from "../parquet/uuid-text.ts";
import type { RunCursor } from "./run-source.ts";

const epochMicros = 946_684_800_000_000n;

/** From the two leading fields of a row: eight bytes of time, sixteen of id. */
export function cursorOf(time: Buffer, id: Buffer): string {
  const text = Buffer.alloc(uuidTextBytes);
  uuidText(id, 0, text, 0);
  return formatCursor({
    startTime: microsText(time.readBigInt64BE(0) + epochMicros),
    id: text.toString("latin1"),
  });
}

export function formatCursor(cursor: RunCursor): string {
  return `${cursor.startTime},${cursor.id}`;
}

export function parseCursor(text: string): RunCursor {
  const comma = text.indexOf(",");
  return { startTime: text.slice(0, comma), id: text.slice(comma + 1) };
}

/** How far a cursor has come through its window, in percent. */
export function cursorPercentage(cursor: string | null, from: string, to: string): number {
  if (cursor === null) return 0;
  const [at, start, end] = [parseCursor(cursor).startTime, from, to].map((text) =>
    Number(parseMicros(text) ?? 0n),
  );
  const share = (at! - start!) / (end! - start!);
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
}
