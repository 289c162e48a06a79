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

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ` */
export function microsText(micros: bigint): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  const ms = Number((micros - rest) / 1000n);
  return new Date(ms).toISOString().replace("Z", `${String(rest).padStart(3, "0")}Z`);
}

/** How far a cursor has come through its window, in percent. */
export function cursorPercentage(cursor: string | null, from: Date, to: Date): number {
  if (cursor === null) return 0;
  const at = Date.parse(parseCursor(cursor).startTime);
  const share = (at - from.getTime()) / (to.getTime() - from.getTime());
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
}
