import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { mayPass, signWebhook } from "./signed-webhook.ts";

test("a signature covers the time and the body", () => {
  const sentAt = new Date("2026-01-02T03:04:05.678Z");
  const mac = createHmac("sha256", "s").update('1767323045.{"a":1}').digest("hex");
  expect(signWebhook("s", '{"a":1}', sentAt)).toBe(`t=1767323045,v1=${mac}`);
});

test("only what may pass by itself is tried again", () => {
  expect([500, 503, 408, 425, 429].every(mayPass)).toBe(true);
  expect([301, 400, 401, 404, 410, 422].some(mayPass)).toBe(false);
});
