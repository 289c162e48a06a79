import { expect, test } from "vitest";
import { causesHref, subjectHref } from "./alert-links.ts";

test("an alert leads to what it watches", () => {
  expect(subjectHref({ scope: "deployment", scope_id: "d" })).toBe("/deployments/d");
  expect(subjectHref({ scope: "project", scope_id: "p" })).toBe("/traces/p?range=24h");
  expect(subjectHref({ scope: "workspace", scope_id: null })).toBeNull();
});

test("and to what made it fire", () => {
  expect(causesHref({ kind: "error_rate", threshold: 5 }, "p")).toBe("/traces/p?range=24h&errors=1");
  const slow = causesHref({ kind: "latency_p95", threshold: 2.5 }, "p");
  expect(new URLSearchParams(slow!.split("?")[1]).get("filter")).toBe('gt(latency, "2.5s")');
  expect(causesHref({ kind: "no_traffic", threshold: null }, "p")).toBe("/traces/p?range=24h");
  expect(causesHref({ kind: "export_failed", threshold: 1 }, null)).toBe("/exports");
  expect(causesHref({ kind: "error_rate", threshold: 5 }, undefined)).toBeNull();
});
