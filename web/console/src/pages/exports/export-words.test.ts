import { expect, it } from "vitest";
import { blobFailureCodes } from "../../../../../src/platform/blob/blob-failure-code.ts";
import { adviceFor, fileName, intervalText, statusOf, windowText } from "./export-words.ts";

const anyFailure = adviceFor("bulk_export.defect");

it.each([...blobFailureCodes, "bulk_export.timeout", "bulk_export.run_timeout"])(
  "there is something to do about %s",
  (code) => expect(adviceFor(code)).not.toBe(anyFailure),
);

it("a failure without a code is worth another try", () => {
  expect(adviceFor(null)).toBe(anyFailure);
});

it.each([
  [1, "every hour"],
  [24, "every day"],
  [48, "every 2 days"],
  [30, "every 30 hours"],
  [168, "every week"],
])("%i hours are %s", (hours, words) => expect(intervalText(hours)).toBe(words));

it("a schedule that waits is active, an export that waits is queued", () => {
  expect(statusOf({ status: "CREATED", interval_hours: 24 })).toBe("active");
  expect(statusOf({ status: "CREATED", interval_hours: null })).toBe("queued");
  expect(statusOf({ status: "FAILED", interval_hours: null })).toBe("FAILED");
});

it("a window of one day is that day", () => {
  const start_time = "2026-05-05T00:00:00Z";
  expect(windowText({ start_time, end_time: "2026-05-06T00:00:00Z" })).toBe("2026-05-05");
  expect(windowText({ start_time, end_time: "2026-05-05T12:30:00Z" })).toBe("2026-05-05 – 2026-05-05 12:30");
  expect(windowText({ start_time, end_time: null })).toBe("from 2026-05-05");
});

it("a file is named without its folders", () => {
  expect(fileName({ key: "lake/export_id=1/runs/day=2/part-00000.parquet" })).toBe("part-00000.parquet");
  expect(fileName({ key: "part-00000.parquet" })).toBe("part-00000.parquet");
});
