import { expect, it } from "vitest";
import { titleOf } from "./thread-title.ts";

it.each([
  ["Calculate (3 + 4) * 12", "Calculate (3 + 4) * 12"],
  ["**Compare** *both* files in snake_case", "Compare both files in snake_case"],
  ["  \n\n# Plan\nthe rest", "Plan"],
  ["See [the docs](https://example.com) and `code`", "See the docs and code"],
  ["```ts\nconst a = 1;\n```\nWhat does this do?", "What does this do?"],
  ["", ""],
  ["```\nonly code\n```", ""],
])("%j is titled %j", (text, title) => {
  expect(titleOf(text)).toBe(title);
});

it("ends with a sentence where there is one, and between words otherwise", () => {
  expect(titleOf("Please compare two databases. Then write a report about both, with figures.")).toBe(
    "Please compare two databases.",
  );
  const long = titleOf("Please compare the durability of every database that we have used since last year");
  expect(long).toBe("Please compare the durability of every database that we…");
  const unbroken = titleOf("x".repeat(200));
  expect(unbroken).toHaveLength(60);
});

it("reads the text of a message with blocks", () => {
  const blocks = [
    { type: "image_url", image_url: { url: "data:" } },
    { type: "text", text: "What is this?" },
  ];
  expect(titleOf(blocks)).toBe("What is this?");
  expect(titleOf(undefined)).toBe("");
});
