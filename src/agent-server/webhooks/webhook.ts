import { AppError, invalidField } from "../../platform/errors.ts";
import type { RunError, RunStatus } from "../runs/run.ts";
import type { RunView } from "../runs/run-schemas.ts";

/** Where webhooks may go, from `webhooks.url` of the project file. */
export type WebhookPolicy = {
  requireHttps: boolean;
  /** `example.com`, or `*.example.com` for everything beneath it; empty = any. */
  allowedDomains: string[];
  allowedPorts: number[];
  maxLength: number;
};

export const openPolicy: WebhookPolicy = {
  requireHttps: false,
  allowedDomains: [],
  allowedPorts: [],
  maxLength: 2048,
};

/** What is kept from the moment a run ends until its webhook is delivered. */
export type WebhookJob = {
  run_id: string;
  attempt: number;
  url: string;
  /** The run's thread goes with it, so nothing is left to read afterwards. */
  temporary: boolean;
  /** JSON text inside JSON: the column refuses what users may have written. */
  snapshot: string;
};

export type WebhookSnapshot = {
  run: RunView;
  status: RunStatus;
  run_started_at: string | null;
  run_ended_at: string | null;
  values: unknown;
  error: RunError | null;
};

/** What the receiver gets: the run, how it ended and what came of it. */
export function webhookBody(snapshot: WebhookSnapshot, sentAt: Date): string {
  const { run, ...end } = snapshot;
  return JSON.stringify({ ...run, ...end, webhook_sent_at: sentAt.toISOString() });
}

/** The URL, or a 422 with what is wrong with it. */
export function parseWebhookUrl(text: string, policy: WebhookPolicy): URL {
  const refuse = (reason: string) => invalidField(["body", "webhook"], reason, text);
  if (!URL.canParse(text)) throw refuse("webhook must be an absolute URL, such as https://example.com/hook");
  const url = new URL(text);
  if (url.protocol !== "https:" && (url.protocol !== "http:" || policy.requireHttps)) {
    throw refuse(`webhook must be ${policy.requireHttps ? "an https" : "an http or https"} URL`);
  }
  if (text.length > policy.maxLength)
    throw refuse(`webhook must have at most ${policy.maxLength} characters`);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (policy.allowedPorts.length > 0 && !policy.allowedPorts.includes(port)) {
    throw refuse(`webhook may use the ports ${policy.allowedPorts.join(", ")} only`);
  }
  if (policy.allowedDomains.length > 0 && !policy.allowedDomains.some((name) => covers(name, url.hostname))) {
    throw refuse(`webhook may go to ${policy.allowedDomains.join(", ")} only`);
  }
  return url;
}

function covers(domain: string, hostname: string): boolean {
  const wanted = domain.toLowerCase();
  return wanted.startsWith("*.")
    ? hostname.endsWith(wanted.slice(1)) && hostname.length > wanted.length - 1
    : hostname === wanted;
}

/**
 * `Bearer ${{ env.LG_WEBHOOK_TOKEN }}` with the value in its place. Only variables with the prefix: an author of the
 * project file must not be able to send the server's other secrets somewhere.
 */
export function fillHeaders(
  templates: Record<string, string>,
  prefix: string,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const fill = (header: string, template: string) =>
    template.replaceAll(/\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g, (_match, name: string) => {
      const value = environment[name];
      if (!name.startsWith(prefix)) {
        throw headerProblem(header, `${name} does not start with ${prefix} (webhooks.env_prefix)`);
      }
      if (value === undefined) throw headerProblem(header, `the environment variable ${name} is not set`);
      return value;
    });
  return Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [name.toLowerCase(), fill(name, template)]),
  );
}

function headerProblem(header: string, problem: string): AppError {
  return new AppError({
    code: "config.invalid",
    kind: "invalid",
    message: `webhooks.headers.${header} in the project file cannot be used: ${problem}.`,
  });
}
