import { expect, it } from "vitest";
import { newestFirst, nextSort, readColumns, readSort, usualColumns, writeSort } from "./run-columns.ts";

it("columns are known ones, once, in the order of the page", () => {
  expect(readColumns("cost,nonsense,input,cost")).toEqual(["input", "cost"]);
  expect([readColumns(null), readColumns("nonsense")]).toEqual([usualColumns, usualColumns]);
});

it("the order is in the address unless it is the usual one", () => {
  expect(readSort("-latency")).toEqual({ field: "latency", order: "desc" });
  expect([readSort("tags"), readSort(null)]).toEqual([newestFirst, newestFirst]);
  expect([writeSort(newestFirst), writeSort({ field: "name", order: "asc" })]).toEqual([null, "name"]);
});

it("a column's head sorts by it, then the other way", () => {
  const first = nextSort(newestFirst, "latency");
  expect(first).toEqual({ field: "latency", order: "desc" });
  expect(nextSort(first, "latency")).toEqual({ field: "latency", order: "asc" });
  expect(nextSort(first, "name")).toEqual({ field: "name", order: "asc" });
});
