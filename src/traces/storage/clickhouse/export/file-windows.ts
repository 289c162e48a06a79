import { microsText, parseMicros } from "../../../../platform/exact-time.ts";

/** What begins within one second. */
export type Second = { second: number; runs: number; bytes: number };
type Window = { from: string; to: string };
export type CountedWindow = Window & { runs: number };

const microsPerSecond = 1_000_000n;

/** Windows that together are the whole one, each of whole seconds and of no more than one second beyond either limit. */
export function fileWindows(
  window: Window,
  seconds: readonly Second[],
  most: { bytes: number; runs: number },
): CountedWindow[] {
  if (seconds.length === 0) return [];
  const windows: CountedWindow[] = [];
  let { from } = window;
  let [bytes, runs] = [0, 0];
  for (const [index, each] of seconds.entries()) {
    bytes += each.bytes;
    runs += each.runs;
    if ((bytes < most.bytes && runs < most.runs) || index === seconds.length - 1) continue;
    const to = microsText((BigInt(each.second) + 1n) * microsPerSecond);
    windows.push({ from, to, runs });
    from = to;
    [bytes, runs] = [0, 0];
  }
  if (parseMicros(from)! < parseMicros(window.to)!) windows.push({ from, to: window.to, runs });
  return windows;
}
