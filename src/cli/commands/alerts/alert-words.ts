import type { Alert } from "../../client/answers.ts";
import type { Cell } from "../../terminal/table.ts";

const rounded = (value: number) => String(Math.round(value * 100) / 100);

const units: Record<string, string> = { error_rate: " %", latency_p95: " s", export_failed: "" };

/** `10 % in 15m`, `no run in 6h`. A kind of a newer server is shown by its name alone. */
export function conditionText({ kind, threshold, window_minutes: minutes }: Alert): string {
  const within = `in ${minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`}`;
  if (kind === "no_traffic") return `no run ${within}`;
  return `${rounded(threshold ?? 0)}${units[kind] ?? ""} ${within}`;
}

export function valueText({ kind, last_value: value }: Alert): string {
  return value == null || kind === "no_traffic" ? "" : `${rounded(value)}${units[kind] ?? ""}`;
}

export function isMuted({ muted_until: until }: Alert, now: Date): boolean {
  return until != null && new Date(until) > now;
}

export function stateCell(alert: Alert, now: Date): Cell {
  if (!alert.enabled) return { text: "disabled", style: "dim" };
  const state = alert.problem != null ? `${alert.state}, not evaluated` : alert.state;
  const text = isMuted(alert, now) ? `${state}, muted` : state;
  if (alert.state === "firing") return { text, style: "red" };
  return { text, style: text === alert.state ? "green" : "yellow" };
}

export function receiversText({ webhook_host: host, emails }: Alert): string {
  return [...(host ? [host] : []), ...emails].join(", ");
}
