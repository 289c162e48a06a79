import { expect, it } from "vitest";
import { addressWith, namesIn, toggled } from "./address.ts";

it("an address keeps what it names and changes what it is told to", () => {
  const search = new URLSearchParams("panel=state&checkpoint=1");
  expect(addressWith("/a", search, { checkpoint: "2" })).toBe("/a?panel=state&checkpoint=2");
  expect(addressWith("/a", search, { checkpoint: null, panel: "" })).toBe("/a");
});

it("several names share one part of it", () => {
  expect(namesIn(new URLSearchParams("stop=a,b"), "stop")).toEqual(["a", "b"]);
  expect(namesIn(new URLSearchParams(), "stop")).toEqual([]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
  expect(toggled([], "a")).toEqual(["a"]);
});
