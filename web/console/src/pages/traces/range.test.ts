import { expect, it } from "vitest";
import { fillBuckets } from "./range.ts";

it("buckets without runs are there too", () => {
  const found = [{ bucket_start: "2026-01-01T01:00:00Z" }];
  const { times, at } = fillBuckets(found, {
    bucket: "hour",
    start: "2026-01-01T00:10:00Z",
    end: "2026-01-01T02:10:00Z",
  });
  expect(times).toHaveLength(3);
  expect(at).toEqual([null, found[0], null]);
});
