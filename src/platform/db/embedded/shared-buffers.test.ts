import { expect, it } from "vitest";
import { sharedBuffers } from "./shared-buffers.ts";

it.each([
  [1, "128MB"],
  [4, "128MB"],
  [8, "256MB"],
  [24, "512MB"],
])("of a machine with %i GB is %s", (gigabytes, expected) => {
  expect(sharedBuffers(gigabytes * 2 ** 30)).toBe(expected);
});
