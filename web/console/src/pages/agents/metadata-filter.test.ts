import { expect, it } from "vitest";
import { readMetadata } from "./metadata-filter.ts";

it("pairs of keys and values become a filter", () => {
  expect(readMetadata("user=ann  tries=3 done=true").metadata).toEqual({ user: "ann", tries: 3, done: true });
  expect(readMetadata('title="a b" x=1').metadata).toEqual({ title: "a b", x: 1 });
  expect(readMetadata("  ")).toEqual({ metadata: {}, problem: null });
});

it("half a pair is complained about", () => {
  expect(readMetadata("user").problem).toBe("Write user as key=value.");
  expect(readMetadata("=x").problem).toBe("Write =x as key=value.");
});
