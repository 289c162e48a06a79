const hourMs = 3_600_000;

export type Range = { label: string; lastMs: number | null; bucket: "minute" | "hour" | "day" | "week" };

/** Stretches of time back from now. */
export const ranges: Readonly<Record<string, Range>> = {
  "1h": { label: "Last hour", lastMs: hourMs, bucket: "minute" },
  "24h": { label: "Last day", lastMs: 24 * hourMs, bucket: "hour" },
  "7d": { label: "Last 7 days", lastMs: 7 * 24 * hourMs, bucket: "hour" },
  "30d": { label: "Last 30 days", lastMs: 30 * 24 * hourMs, bucket: "day" },
  all: { label: "All time", lastMs: null, bucket: "day" },
};

export const defaultRange = "7d";

const bucketSeconds = { minute: 60, hour: 3_600, day: 86_400, week: 604_800 };

/** One place per bucket, also where nothing ran: seconds since 1970, and what was found there. */
export function fillBuckets<Found extends { bucket_start: string }>(
  found: readonly Found[],
  { bucket, start, end }: { bucket: Range["bucket"]; start: string; end: string },
): { times: number[]; at: (Found | null)[] } {
  const step = bucketSeconds[bucket];
  const known = new Map(found.map((each) => [Date.parse(each.bucket_start) / 1_000, each]));
  const first = Math.floor(Date.parse(start) / 1_000 / step) * step;
  const last = Math.floor(Date.parse(end) / 1_000 / step) * step;
  const times: number[] = [];
  for (let time = first; time <= last && times.length < 2_000; time += step) times.push(time);
  return { times, at: times.map((time) => known.get(time) ?? null) };
}
