import { expect, test } from "vitest";
import { nearNames, suggestion } from "./near-names.ts";

test.each([
  ["tset", ["test", "github"], ["test"]],
  ["GitHub", ["gitlab", "github"], ["github", "gitlab"]],
  ["agent", ["my-agent", "other"], ["my-agent"]],
  ["zzz", ["test"], []],
])("%s", (given, names, near) => {
  expect(nearNames(given, names)).toEqual(near);
});

test("a suggestion names what is near, and nothing else", () => {
  expect([suggestion("tset", ["test"]), suggestion("zzz", ["test"])]).toEqual([" Did you mean test?", ""]);
});
