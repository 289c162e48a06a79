import { describe, expect, it } from "vitest";
import { filterFields } from "../../api/filter-language.ts";
import { asFilter, complete } from "./filter-complete.ts";
import { faultWords } from "./filter-fault.ts";
import { previewText } from "./preview.ts";
import { fillBuckets } from "./range.ts";
import type { Run } from "./trace.ts";
import { treeRows } from "./trace-rows.ts";

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

it("a fault names what was meant", () => {
  const problem = 'There is no field "nmae".';
  const said = (found: string, choices: string[]) =>
    faultWords({ problem, expected: `one of ${choices.join(", ")}`, found, choices });
  expect(said("nmae", ["id", "name"])).toBe(`${problem} Did you mean name?`);
  expect(said("zzzz", ["id", "name"])).toBe(`${problem} Expected one of id, name.`);
  expect(said("zzzz", "abcdefghijklmnop".split(""))).toBe(`${problem} What there is shows up as you type.`);
  const unlisted = { found: null, choices: null };
  expect(faultWords({ problem: "Unexpected ).", expected: '","', ...unlisted })).toBe(
    'Unexpected ). Expected ",".',
  );
  expect(faultWords({ problem: "in takes a list.", expected: null, ...unlisted })).toBe("in takes a list.");
});

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

it("buckets without runs are there too", () => {
  const found = [{ bucket_start: "2026-01-01T01:00:00Z" }];
  const { times, at } = fillBuckets(found, {
    bucket: "hour",
    start: "2026-01-01T00:10:00Z",
    end: "2026-01-01T02:10:00Z",
  });
  expect(times).toHaveLength(3);
  expect(at).toEqual([null, found[0], null]);
});

it("a tree has every run once, also those whose parent is missing", () => {
  const run = (id: string, parent: string | null, second: number) =>
    ({
      id,
      parent_run_id: parent,
      start_time: `2026-01-01T00:00:0${second}Z`,
      end_time: `2026-01-01T00:00:0${second + 1}Z`,
    }) as Run;
  const runs = [run("a", null, 0), run("b", "a", 1), run("c", "b", 2), run("d", "gone", 3)];
  const shape = (folded: string[]) =>
    treeRows(runs, new Set(folded), 0).map(({ run: { id }, depth }) => `${id}${depth}`);
  expect(shape([])).toEqual(["a0", "b1", "c2", "d0"]);
  expect(shape(["a"])).toEqual(["a0", "d0"]);
  const [, second] = treeRows(runs, new Set(), 0);
  expect(second).toMatchObject({ left: 0.25, width: 0.25, tookMs: 1_000, childCount: 1 });
});
