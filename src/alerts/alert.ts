export const alertKinds = ["error_rate", "latency_p95", "no_traffic", "export_failed"] as const;
export type AlertKind = (typeof alertKinds)[number];

export const alertScopes = ["deployment", "project", "workspace"] as const;
export type AlertScope = (typeof alertScopes)[number];

/** `ok`: it never fired. `resolved`: it fired, and what it watches is well again. */
export const alertStates = ["ok", "firing", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

export type Verdict = "breached" | "clear";

/** Every move a rule may make. A change of the state is what people are notified of, once. */
export const alertTransitions: Record<AlertState, Record<Verdict, AlertState>> = {
  ok: { breached: "firing", clear: "ok" },
  firing: { breached: "firing", clear: "resolved" },
  resolved: { breached: "firing", clear: "resolved" },
};

export type AlertRule = {
  id: string;
  workspace_id: string;
  name: string;
  kind: AlertKind;
  scope: AlertScope;
  scope_id: string | null;
  window_minutes: number;
  threshold: number | null;
  min_runs: number;
  emails: string[];
  webhook_host: string | null;
  webhook_sealed: string | null;
  enabled: boolean;
  muted_until: Date | null;
  state: AlertState;
  state_since: Date;
  last_value: number | null;
  /** Why the last evaluation failed. */
  problem: string | null;
  evaluated_at: Date | null;
  tested_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

export const alertEventKinds = ["firing", "resolved", "test"] as const;
export type AlertEventKind = (typeof alertEventKinds)[number];

export type AlertEvent = {
  id: string;
  rule_id: string;
  workspace_id: string;
  kind: AlertEventKind;
  value: number | null;
  message: string;
  muted: boolean;
  at: Date;
};

export type AlertChannel = "webhook" | "email";
export type AlertDelivery = {
  id: string;
  event_id: string;
  channel: AlertChannel;
  /** The address, or the host of the webhook: the rest of a webhook's URL is often a credential. */
  target: string;
  status: "pending" | "sent" | "failed";
  attempts: number;
  error: string | null;
  sent_at: Date | null;
};

/** A receiver that the newest notification did not reach: `pending` while it is still tried. */
export type Undelivered = Pick<AlertDelivery, "channel" | "target"> & {
  status: "pending" | "failed";
  error: string;
  /** When the notification was made. */
  at: Date;
};

/** A receiver that was removed since is nobody's concern any more. */
export function isReceiver(
  rule: Pick<AlertRule, "webhook_host" | "emails">,
  { channel, target }: Pick<AlertDelivery, "channel" | "target">,
): boolean {
  return channel === "webhook" ? rule.webhook_host === target : rule.emails.includes(target);
}

export type Figures = { runs: number; errors: number; p95Seconds: number | null };

/** What was seen in the window, as far as the rule's kind needs it. */
export type Measured =
  | { kind: "runs"; figures: Figures }
  | { kind: "traffic"; seen: boolean }
  | { kind: "exports"; failed: number };

export type Judged = { verdict: Verdict; value: number | null };

type Rule = Pick<AlertRule, "kind" | "threshold" | "min_runs">;

/** Fewer runs than `min_runs` are too few to judge: one failure of one run is no rate. */
export function judge(rule: Rule, measured: Measured): Judged {
  const verdict = (breached: boolean): Verdict => (breached ? "breached" : "clear");
  if (measured.kind === "traffic") return { verdict: verdict(!measured.seen), value: null };
  const threshold = rule.threshold ?? 1;
  if (measured.kind === "exports")
    return { verdict: verdict(measured.failed >= threshold), value: measured.failed };
  const { runs, errors, p95Seconds } = measured.figures;
  const value = rule.kind === "error_rate" ? (runs === 0 ? null : (errors / runs) * 100) : p95Seconds;
  return { verdict: verdict(value !== null && runs >= rule.min_runs && value >= threshold), value };
}

const minuteMs = 60_000;

export function windowOf(rule: Pick<AlertRule, "window_minutes">, now: Date): { from: Date; to: Date } {
  return { from: new Date(now.getTime() - rule.window_minutes * minuteMs), to: now };
}

/** A rule about missing traffic waits for a whole window: before that, missing traffic cannot be detected. */
export function canJudge(
  rule: Pick<AlertRule, "kind" | "created_at" | "window_minutes">,
  now: Date,
): boolean {
  return rule.kind !== "no_traffic" || rule.created_at <= windowOf(rule, now).from;
}

export function isMuted({ muted_until: until }: Pick<AlertRule, "muted_until">, now: Date): boolean {
  return until !== null && until > now;
}
