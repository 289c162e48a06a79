import { describe, expect, it } from "vitest";
import { filterFields } from "../../api/filter-language.ts";
import { asFilter, complete } from "./filter-complete.ts";

const seen = {
  names: ["agent", "summarize"],
  run_types: ["llm"],
  tags: ["blue"],
  metadata: { user: ["ada", "bob"], env: ["prod"] },
  feedback_keys: ["correctness"],
};
const labels = (text: string, caret = text.length) =>
  complete(text, caret, seen).suggestions.map(({ label }) => label);

describe("completion", () => {
  it.each([
    ["", "and"],
    ["and(", "eq"],
    ['and(eq(name, "x"), g', "gt"],
    ["eq(", "run_type"],
    ["gt(", "latency"],
    ["eq(name, ", "agent"],
    ['eq(name, "sum', "summarize"],
    ["eq(status, ", "error"],
    ["has(tags, ", "blue"],
    ['and(eq(metadata_key, "user"), eq(metadata_value, ', "bob"],
    ["eq(feedback_key, '", "correctness"],
  ])("after %s there is %s", (text, expected) => {
    expect(labels(text)).toContain(expected);
  });

  it("offers every field of the server where it fits", () => {
    const words = complete("eq(", 3, seen);
    expect(words.suggestions).toHaveLength(12);
    const offered = Object.keys(filterFields).filter((field) =>
      labels(`eq(${field.slice(0, -1)}`).includes(field),
    );
    expect(offered).toEqual(Object.keys(filterFields));
    expect(labels("gte(prompt_c")).toEqual(["prompt_cost"]);
    expect(labels("like(feedback_c")).toEqual(["feedback_comment"]);
  });

  it("offers only what fits", () => {
    expect(labels("gt(")).not.toContain("name");
    expect(labels("eq(metadata_value, ")).toEqual([]);
    expect(labels('eq(name, "x")')).toEqual([]);
    expect(labels('search("eq(')).toEqual([]);
  });

  it("replaces the word around the caret, and no more", () => {
    const text = "and(eq(na, 1), x)";
    const { from, to } = complete(text, 9, seen);
    expect(text.slice(from, to)).toBe("na");
  });
});

it("plain words are searched for, expressions are taken as they are", () => {
  expect(asFilter(' time "out" ')).toBe('search("time \\"out\\"")');
  expect(asFilter("eq(name, 1")).toBe("eq(name, 1");
  expect(asFilter("  ")).toBe("");
});
