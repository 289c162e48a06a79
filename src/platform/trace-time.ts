/** A time as traces have it, with microseconds, and the same as their dotted orders have it. */
export type TraceTime = { iso: string; stamp: string };

/** Our clocks stop at the millisecond: `count` fills the digits below, so that steps of one millisecond keep their order. */
export function traceTime(at: Date | number, count = 0): TraceTime {
  const micros = String(count).padStart(3, "0");
  const iso = `${new Date(at).toISOString().slice(0, -1)}${micros}Z`;
  return { iso, stamp: iso.replace(/[-:.]/g, "") };
}
