import type { Alert } from "../../client/answers.ts";
import { formatAge } from "../../terminal/amounts.ts";
import type { Cell } from "../../terminal/table.ts";
import { plainText } from "../../terminal/text.ts";

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

/** Its receivers; or those that the newest notification did not reach, with when and why. */
export function receiversCell(alert: Alert, now: Date): Cell {
  const { undelivered } = alert;
  if (undelivered.length === 0) return receiversText(alert);
  return { text: undelivered.map((each) => undeliveredText(each, now)).join("; "), style: "red" };
}

/** `not delivered, 2m ago: hooks.example.com responded …` */
export function undeliveredText(
  { target, status, error, at }: Alert["undelivered"][number],
  now: Date,
): string {
  const what = status === "pending" ? "not delivered yet" : "not delivered";
  const reason = plainText(error);
  return `${what}, ${formatAge(at, now)}: ${reason.includes(target) ? reason : `${target}: ${reason}`}`;
}
