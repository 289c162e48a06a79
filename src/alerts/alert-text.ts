import type { AlertEventKind, AlertRule } from "./alert.ts";

type Rule = Pick<AlertRule, "name" | "kind" | "scope" | "window_minutes" | "threshold">;

const rounded = (value: number) => String(Math.round(value * 100) / 100);

export function windowText(minutes: number): string {
  if (minutes % 60 !== 0) return `${minutes} min`;
  return minutes === 60 ? "hour" : `${minutes / 60} hours`;
}

function scopeText({ scope }: Rule, scopeName: string | null): string {
  return scope === "workspace" ? "in the workspace" : `in the ${scope} ${scopeName ?? "that is gone"}`;
}

function measureText({ kind, threshold }: Rule, value: number | null): string {
  switch (kind) {
    case "error_rate":
      return value === null
        ? "no runs"
        : `${rounded(value)} % of the runs failed (threshold ${rounded(threshold ?? 0)} %)`;
    case "latency_p95":
      return value === null
        ? "no runs that ended"
        : `95 % of the runs took up to ${rounded(value)} s (threshold ${rounded(threshold ?? 0)} s)`;
    case "no_traffic":
      return "no run began";
    case "export_failed":
      return `${value ?? 0} ${value === 1 ? "export" : "exports"} failed`;
  }
}

const wellAgain: Record<AlertRule["kind"], (rule: Rule, value: number | null) => string> = {
  error_rate: measureText,
  latency_p95: measureText,
  no_traffic: () => "runs begin again",
  export_failed: () => "no export failed",
};

const heads: Record<AlertEventKind, string> = { firing: "Firing", resolved: "Resolved", test: "Test" };

/** One sentence: what happened, where, in which time. */
export function eventText(
  rule: Rule,
  kind: AlertEventKind,
  { value, scopeName }: { value: number | null; scopeName: string | null },
): string {
  const what =
    kind === "test"
      ? "this is a test, nothing has happened"
      : (kind === "firing" ? measureText : wellAgain[rule.kind])(rule, value);
  const where = scopeText(rule, scopeName);
  const when = kind === "test" ? "" : ` in the last ${windowText(rule.window_minutes)}`;
  return `${heads[kind]}: ${rule.name}: ${what} ${where}${when}.`;
}
