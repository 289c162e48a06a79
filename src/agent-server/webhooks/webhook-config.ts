import type { ProjectFile } from "../graphs/project-config.ts";
import { fillHeaders, openPolicy, type WebhookPolicy } from "./webhook.ts";

export type WebhookConfig = {
  enabled: boolean;
  policy: WebhookPolicy;
  headers: Record<string, string>;
  /** The project asks never to call the machine it runs on. */
  denyPrivate: boolean;
};

export const defaultWebhookConfig: WebhookConfig = {
  enabled: true,
  policy: openPolicy,
  headers: {},
  denyPrivate: false,
};

const defaultPrefix = "LG_WEBHOOK_";

/** `webhooks` and `http.disable_webhooks` of the project file. */
export function readWebhookConfig(
  file: Pick<ProjectFile, "webhooks" | "http">,
  environment: Readonly<Record<string, string | undefined>>,
): WebhookConfig {
  const { webhooks } = file;
  const url: Record<string, unknown> = webhooks?.url ?? {};
  return {
    enabled: file.http?.disable_webhooks !== true,
    policy: {
      requireHttps: url.require_https === true,
      allowedDomains: list(url.allowed_domains).map(String),
      allowedPorts: list(url.allowed_ports).map(Number),
      maxLength: typeof url.max_url_length === "number" ? url.max_url_length : openPolicy.maxLength,
    },
    headers: fillHeaders(webhooks?.headers ?? {}, webhooks?.env_prefix ?? defaultPrefix, environment),
    denyPrivate: url.disable_loopback === true,
  };
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
