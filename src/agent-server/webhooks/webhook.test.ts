import { describe, expect, test } from "vitest";
import { fillHeaders, openPolicy, parseWebhookUrl } from "./webhook.ts";
import { readWebhookConfig } from "./webhook-config.ts";

/** Written so, because the real thing looks like a template that was meant to be one. */
const variable = (name: string) => ["$", `{{ env.${name} }}`].join("");

describe("where a webhook may go", () => {
  test.each([
    ["https://example.com/hook", openPolicy],
    ["http://example.com", openPolicy],
    ["https://a.example.com/", { ...openPolicy, allowedDomains: ["*.example.com"] }],
    ["https://example.com/", { ...openPolicy, allowedDomains: ["example.com"], allowedPorts: [443] }],
  ])("%s", (url, policy) => {
    expect(parseWebhookUrl(url, policy).href).toBe(new URL(url).href);
  });

  test.each([
    ["/threads", openPolicy, /absolute URL/],
    ["", openPolicy, /absolute URL/],
    ["javascript:alert(1)", openPolicy, /http or https/],
    ["file:///etc/passwd", openPolicy, /http or https/],
    ["http://example.com", { ...openPolicy, requireHttps: true }, /an https URL/],
    ["https://example.com/long", { ...openPolicy, maxLength: 10 }, /at most 10 characters/],
    ["https://example.com:8443", { ...openPolicy, allowedPorts: [443] }, /ports 443 only/],
    ["https://example.com", { ...openPolicy, allowedDomains: ["*.example.com"] }, /\*\.example\.com only/],
    ["https://evilexample.com", { ...openPolicy, allowedDomains: ["*.example.com"] }, /only/],
    ["https://example.com.evil.org", { ...openPolicy, allowedDomains: ["example.com"] }, /only/],
  ])("not %s", (url, policy, message) => {
    expect(() => parseWebhookUrl(url, policy)).toThrow(message);
  });
});

describe("headers of the project file", () => {
  test("take values from variables with the prefix", () => {
    const headers = { Authorization: `Bearer ${variable("LG_WEBHOOK_TOKEN")}`, "X-Fixed": "yes" };
    expect(fillHeaders(headers, "LG_WEBHOOK_", { LG_WEBHOOK_TOKEN: "t" })).toEqual({
      authorization: "Bearer t",
      "x-fixed": "yes",
    });
  });

  test.each([
    [{ Token: variable("DATABASE_URL") }, /DATABASE_URL does not start with LG_WEBHOOK_/],
    [{ Token: variable("LG_WEBHOOK_NONE").replaceAll(" ", "") }, /LG_WEBHOOK_NONE is not set/],
  ])("%j is refused", (headers, message) => {
    expect(() => fillHeaders(headers, "LG_WEBHOOK_", { DATABASE_URL: "postgres://" })).toThrow(message);
  });
});

test("the settings of a project file", () => {
  const config = readWebhookConfig(
    {
      webhooks: {
        env_prefix: "HOOK_",
        headers: { A: variable("HOOK_A") },
        url: {
          require_https: true,
          allowed_domains: ["example.com"],
          allowed_ports: [443],
          disable_loopback: true,
        },
      },
      http: { disable_webhooks: true },
    },
    { HOOK_A: "a" },
  );
  expect(config).toEqual({
    enabled: false,
    policy: { requireHttps: true, allowedDomains: ["example.com"], allowedPorts: [443], maxLength: 2048 },
    headers: { a: "a" },
    denyPrivate: true,
  });
});
