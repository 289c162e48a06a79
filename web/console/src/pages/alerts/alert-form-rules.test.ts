import { expect, it } from "vitest";
import {
  alertProblems,
  conditionText,
  createdBody,
  emailsOf,
  emptyAlert,
  formOf,
  valueText,
} from "./alert-form-rules.ts";

const form = { ...emptyAlert, name: "Errors", webhook: "https://example.com/x" };
const wrong = (more: Partial<typeof emptyAlert>, hasWebhook = false) =>
  Object.entries(alertProblems({ ...form, ...more }, hasWebhook)).flatMap(([name, text]) =>
    text ? [name] : [],
  );

it("names what is wrong, field by field", () => {
  expect(wrong({})).toEqual([]);
  expect(wrong({ name: " " })).toEqual(["name"]);
  expect(wrong({ scope: "deployment" })).toEqual(["scopeId"]);
  expect(wrong({ window: "0" })).toEqual(["window"]);
  expect(wrong({ threshold: "101" })).toEqual(["threshold"]);
  expect(wrong({ kind: "no_traffic", threshold: "" })).toEqual([]);
  expect(wrong({ emails: "a@b.c, d" })).toEqual(["emails"]);
  expect(wrong({ webhook: "" })).toEqual(["webhook"]);
  expect(wrong({ webhook: "" }, true)).toEqual([]);
});

it("sends numbers, and no threshold where there is none", () => {
  expect(createdBody({ ...form, threshold: "2,5", emails: "a@b.cd; e@f.gh" })).toEqual({
    ...{ name: "Errors", kind: "error_rate", scope: "workspace", scope_id: null, window_minutes: 15 },
    ...{ threshold: 2.5, min_runs: 5, emails: ["a@b.cd", "e@f.gh"], webhook_url: "https://example.com/x" },
  });
  expect(createdBody({ ...form, kind: "no_traffic" }).threshold).toBeNull();
});

it("reads an alert back into the form", () => {
  const read = formOf({
    ...{ name: "n", kind: "latency_p95", scope: "project", scope_id: "p", window_minutes: 5, threshold: 2 },
    ...{ min_runs: 1, emails: ["a@b.cd"] },
  } as Parameters<typeof formOf>[0]);
  expect(read).toMatchObject({ window: "5", threshold: "2", scopeId: "p", emails: "a@b.cd", webhook: "" });
});

it("puts conditions and values into words", () => {
  expect(emailsOf(" a@b.c ,\n d@e.f")).toEqual(["a@b.c", "d@e.f"]);
  const about = { window_minutes: 15, threshold: 1 };
  expect(conditionText({ ...about, kind: "export_failed" })).toBe("1 failed export in 15 min");
  expect(conditionText({ ...about, kind: "error_rate" })).toBe("1 % of the runs fail in 15 min");
  expect(conditionText({ ...about, kind: "latency_p95" })).toContain("1 s or more");
  expect(conditionText({ ...about, kind: "no_traffic" })).toBe("no run in 15 min");
  expect(valueText({ kind: "error_rate", last_value: 33.333 })).toBe("33.33 %");
  expect(valueText({ kind: "latency_p95", last_value: null })).toBe("–");
});
