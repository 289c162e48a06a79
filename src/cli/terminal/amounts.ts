/** Amounts as a person reads them. */

const units: [string, number][] = [
  ["y", 31_536_000],
  ["mo", 2_592_000],
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
];

/** `3m ago`, `in 2h`, `now`. */
export function formatAge(at: string | Date, now: Date): string {
  const seconds = Math.round((now.getTime() - new Date(at).getTime()) / 1000);
  if (Number.isNaN(seconds)) return "";
  const size = Math.abs(seconds);
  if (size < 2) return "now";
  const [unit, length] = units.find(([, each]) => size >= each) ?? ["s", 1];
  const text = `${Math.floor(size / length)}${unit}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

/** `0.4 s`, `12 s`, `3m 05s`, `2h 10m`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, "0")}s`;
  return `${Math.floor(whole / 3600)}h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")}m`;
}

export function formatBytes(bytes: number): string {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes;
  let place = 0;
  while (size >= 999.5 && place < names.length - 1) {
    size /= 1000;
    place += 1;
  }
  return `${place === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${names[place]}`;
}

export function formatCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, " ");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
