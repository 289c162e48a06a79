import { expect, it } from "vitest";
import { previewText } from "./preview.ts";

it.each([
  [
    '{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"line\\none \\u00e9"}',
    "line one é",
  ],
  ['{"topic":"looms","count":3}', "looms · 3"],
  ['"}],"content":"","tool_calls":[]},{"content":"the end","id":"x', "the end"],
  ["{}", ""],
  [null, ""],
])("the telling part of %s is %s", (json, expected) => {
  expect(previewText(json)).toBe(expected);
});
