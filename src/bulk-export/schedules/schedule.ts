import { type Micros, microsPerHour, microsText, parseMicros } from "../../platform/exact-time.ts";

/** How long after the end of a window its export runs: late traces are in by then. */
export const spawnDelayMinutes = 10;

/** Window n of a schedule: `[start + n·interval, start + (n + 1)·interval)`. */
export function scheduleWindow(
  schedule: { start_time: string; interval_hours: number },
  n: number,
): { start_time: string; end_time: string } {
  const start: Micros = parseMicros(schedule.start_time)!;
  const interval = BigInt(schedule.interval_hours) * microsPerHour;
  return {
    start_time: microsText(start + BigInt(n) * interval),
    end_time: microsText(start + BigInt(n + 1) * interval),
  };
}
