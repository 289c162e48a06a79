import { microsText, parseMicros } from "../../platform/exact-time.ts";
import { uuidText, uuidTextBytes } from "../parquet/uuid-text.ts";
import type { Partition } from "./partition.ts";
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

type Placed = Pick<Partition, "status" | "latest_cursor" | "start_time" | "end_time" | "pending_upload">;

/** How far a partition has come through its window, in percent; `readProgress` of exports adds up the same. */
export function partitionPercentage(partition: Placed): number {
  const { status, latest_cursor: cursor, pending_upload: pending } = partition;
  if (status === "COMPLETED") return 100;
  const [start, end] = [microsOf(partition.start_time), microsOf(partition.end_time)];
  let at = cursor === null ? start : microsOf(parseCursor(cursor).startTime);
  if (status === "RUNNING" && pending?.expected_rows) {
    const target = microsOf(parseCursor(pending.target_cursor).startTime);
    at += (target - at) * Math.min(1, pending.rows_count / pending.expected_rows);
  }
  return Math.round(Math.min(1, Math.max(0, (at - start) / (end - start))) * 1000) / 10;
}

const microsOf = (text: string) => Number(parseMicros(text) ?? 0n);
