import { expect, it } from "vitest";
import { resourcesOf } from "./pages.ts";

it("pages of a list are one list; without any there is none", () => {
  expect(resourcesOf({ pages: [{ resources: [1, 2] }, { resources: [] }, { resources: [3] }] })).toEqual([
    1, 2, 3,
  ]);
  expect(resourcesOf({ pages: [] })).toEqual([]);
  expect(resourcesOf(undefined)).toBeUndefined();
});
