import { performance } from "node:perf_hooks";

export type LoadResult = {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  errors: number;
};

/** Calls `request` from `clients` loops for a bounded time and reports rate and latency. */
export async function load(options: {
  clients: number;
  seconds: number;
  request: (client: number) => Promise<void>;
}): Promise<LoadResult> {
  const until = performance.now() + options.seconds * 1000;
  const times: number[] = [];
  let errors = 0;
  const loop = async (client: number) => {
    while (performance.now() < until) {
      const start = performance.now();
      try {
        await options.request(client);
        times.push(performance.now() - start);
      } catch {
        errors += 1;
      }
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: options.clients }, (_, client) => loop(client)));
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  return {
    requests: times.length,
    perSecond: times.length / seconds,
    p50Ms: percentile(times, 50),
    p99Ms: percentile(times, 99),
    maxMs: times.at(-1) ?? 0,
    errors,
  };
}

export function percentile(sorted: readonly number[], percent: number): number {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]!;
}

/** Of an even number, the mean of the two in the middle: one of them alone would flatter times or rates. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 0 && sorted.length > 0
    ? (sorted[middle - 1]! + sorted[middle]!) / 2
    : percentile(sorted, 50);
}

/** Rows as an aligned table, for a terminal and for Markdown alike. */
export function formatTable(rows: Record<string, string | number>[]): string {
  if (rows.length === 0) return "";
  const names = Object.keys(rows[0]!);
  const cells = rows.map((row) => names.map((name) => format(row[name]!)));
  const widths = names.map((name, index) =>
    Math.max(name.length, ...cells.map((line) => line[index]!.length)),
  );
  const line = (parts: string[]) =>
    `| ${parts.map((part, index) => part.padEnd(widths[index]!)).join(" | ")} |`;
  return [
    line(names),
    `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`,
    ...cells.map(line),
  ].join("\n");
}

function format(value: string | number): string {
  if (typeof value === "string") return value;
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value < 10 ? 2 : 1);
}

/** Echo runs without a thread; each waits for its result. */
export async function makeEchoRuns(
  port: number,
  { total, atOnce, apiKey }: { total: number; atOnce: number; apiKey?: string },
): Promise<void> {
  let left = total;
  const url = `http://127.0.0.1:${port}/runs/wait`;
  const headers = { "content-type": "application/json", ...(apiKey && { "x-api-key": apiKey }) };
  const body = JSON.stringify({
    assistant_id: "echo",
    input: { messages: [{ role: "user", content: "again" }] },
  });
  const client = async () => {
    while (left > 0) {
      left -= 1;
      const response = await fetch(url, { method: "POST", headers, body });
      if (!response.ok) throw new Error(`A run answered ${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
}
