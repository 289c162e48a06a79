import { expect, it } from "vitest";
import { textOf } from "./message-text.ts";

it.each([
  ["plain", "plain"],
  [["one ", { type: "text", text: "two" }, { type: "image" }, null], "one two"],
  [undefined, ""],
  [{ text: "no list" }, ""],
])("the words of %j are %j", (content, words) => {
  expect(textOf({ type: "ai", content })).toBe(words);
});
