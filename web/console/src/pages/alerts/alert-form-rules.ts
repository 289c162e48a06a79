import type { Alert, Bodies } from "../../api/wire.ts";

export type AlertForm = {
  name: string;
  kind: Alert["kind"];
  scope: Alert["scope"];
  scopeId: string;
  window: string;
  threshold: string;
  minRuns: string;
  emails: string;
  webhook: string;
};

export const emptyAlert: AlertForm = {
  ...{ name: "", kind: "error_rate", scope: "workspace", scopeId: "", window: "15", threshold: "10" },
  ...{ minRuns: "5", emails: "", webhook: "" },
};

export function formOf(alert: Alert): AlertForm {
  return {
    ...{ name: alert.name, kind: alert.kind, scope: alert.scope, scopeId: alert.scope_id ?? "" },
    window: String(alert.window_minutes),
    threshold: alert.threshold === null ? "" : String(alert.threshold),
    minRuns: String(alert.min_runs),
    emails: alert.emails.join(", "),
    webhook: "",
  };
}

export const emailsOf = (text: string) => text.split(/[\s,;]+/).filter((part) => part !== "");

const isWhole = (text: string, most: number) =>
  /^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= most;

/** What is wrong with what was typed. `hasWebhook`: one is kept already. */
export function alertProblems(
  form: AlertForm,
  hasWebhook: boolean,
): Partial<Record<keyof AlertForm, string | null>> {
  const threshold = Number(form.threshold.trim().replace(",", "."));
  const noThreshold = form.threshold.trim() === "" || !(threshold > 0);
  const wrongEmail = emailsOf(form.emails).find((each) => !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(each));
  const nobody = form.webhook.trim() === "" && !hasWebhook && emailsOf(form.emails).length === 0;
  return {
    name: form.name.trim() === "" ? "Give the alert a name." : null,
    scopeId: form.scope !== "workspace" && form.scopeId === "" ? `Choose a ${form.scope}.` : null,
    window: isWhole(form.window, 1_440) ? null : "Minutes, from 1 to 1440.",
    threshold:
      form.kind === "no_traffic"
        ? null
        : noThreshold
          ? "A number above 0."
          : form.kind === "error_rate" && threshold > 100
            ? "Percent: at most 100."
            : null,
    minRuns: isWhole(form.minRuns, 1_000_000) ? null : "A whole number, 1 or more.",
    emails: wrongEmail === undefined ? null : `${wrongEmail} is not an e-mail address.`,
    webhook:
      form.webhook.trim() !== "" && !/^https?:\/\/\S+$/.test(form.webhook.trim())
        ? "An address that starts with https:// or http://."
        : nobody
          ? "Give a webhook or an e-mail address: somebody must be notified."
          : null,
  };
}

export function changedBody(form: AlertForm) {
  const webhook = form.webhook.trim();
  return {
    name: form.name.trim(),
    window_minutes: Number(form.window),
    threshold: form.kind === "no_traffic" ? null : Number(form.threshold.trim().replace(",", ".")),
    min_runs: Number(form.minRuns),
    emails: emailsOf(form.emails),
    ...(webhook === "" ? {} : { webhook_url: webhook }),
  };
}

export function createdBody(form: AlertForm): Bodies["create_alert"] {
  const { kind, scope } = form;
  return { ...changedBody(form), kind, scope, scope_id: scope === "workspace" ? null : form.scopeId };
}

export const kindNames: Record<Alert["kind"], string> = {
  error_rate: "Error rate",
  latency_p95: "Latency (p95)",
  no_traffic: "No traffic",
  export_failed: "Failed exports",
};

/** What a rule waits for, in a few words. */
export function conditionText(alert: Pick<Alert, "kind" | "threshold" | "window_minutes">): string {
  const { kind, threshold, window_minutes: minutes } = alert;
  const within = `in ${minutes} min`;
  switch (kind) {
    case "error_rate":
      return `${threshold} % of the runs fail ${within}`;
    case "latency_p95":
      return `5 % of the runs take ${threshold} s or more ${within}`;
    case "no_traffic":
      return `no run ${within}`;
    case "export_failed":
      return `${threshold} failed ${threshold === 1 ? "export" : "exports"} ${within}`;
  }
}

export function valueText({ kind, last_value: value }: Pick<Alert, "kind" | "last_value">): string {
  if (value === null) return "–";
  const rounded = Math.round(value * 100) / 100;
  return {
    error_rate: `${rounded} %`,
    latency_p95: `${rounded} s`,
    no_traffic: "–",
    export_failed: `${rounded}`,
  }[kind];
}
