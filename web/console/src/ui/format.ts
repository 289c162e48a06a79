/** Numbers and times as people read them. Pure: what is now comes as an argument. */

export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms === 0) return "0 ms";
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60 * 48) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 60 / 24)} days`;
}

const byteUnits = ["B", "KB", "MB", "GB", "TB"] as const;

export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1_000 && unit < byteUnits.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${bytes < 0 ? "-" : ""}${value.toFixed(digits)} ${byteUnits[unit]}`;
}

// Made once: to make a formatter takes longer than a thousand uses of it.
const smallMoney = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 2 });
const middleMoney = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
const largeMoney = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const smallCount = new Intl.NumberFormat("en-US");
const largeCount = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function formatMoney(dollars: number): string {
  if (!Number.isFinite(dollars)) return "–";
  if (dollars === 0) return "$0";
  const size = Math.abs(dollars);
  const sign = dollars < 0 ? "-" : "";
  // A call costs a fraction of a cent: two digits that count, and never an exponent.
  if (size < 1e-8) return `<${sign}$0.00000001`;
  if (size < 0.01) return `${sign}$${smallMoney.format(size)}`;
  if (size < 1) return `${sign}$${middleMoney.format(size)}`;
  return `$${largeMoney.format(dollars)}`;
}

export function formatCount(count: number): string {
  if (!Number.isFinite(count)) return "–";
  return (Math.abs(count) < 10_000 ? smallCount : largeCount).format(count);
}

const spans: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

export function formatRelative(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1_000);
  if (Math.abs(seconds) < 10) return "just now";
  for (const [unit, size] of spans) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(seconds, "second");
}

export function formatExact(at: Date): string {
  return exact.format(at);
}
