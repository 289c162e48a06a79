import { expect, it } from "vitest";
import { addressOfView, viewOfAddress } from "./saved-view-address.ts";

it("a view's address shows what was kept, and nothing else", () => {
  const params = new URLSearchParams({
    filter: 'eq(name, "a&b")',
    sort: "-latency",
    range: "30d",
    errors: "1",
    other: "x",
  });
  const view = viewOfAddress(params, ["latency", "tags"], "Slow");
  expect(view).toEqual({
    name: "Slow",
    filter: 'eq(name, "a&b")',
    columns: ["latency", "tags"],
    sort: "-latency",
    options: { range: "30d", errors: "1" },
  });
  const address = addressOfView("p", view);
  expect(viewOfAddress(new URL(address, "http://x").searchParams, view.columns, "Slow")).toEqual(view);
  expect(new URL(address, "http://x").searchParams.get("columns")).toBe("latency,tags");
  expect(addressOfView("p", { filter: "", columns: [], sort: null, options: {} })).toBe("/traces/p");
});
