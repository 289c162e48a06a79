import { describe, expect, it } from "vitest";
import { expiryOf, keyFault, labelFault, lastWrites, namespaceFault, storableJson } from "./item.ts";
import { parseFilter } from "./item-filter.ts";
import { textsAt, wordsOf } from "./item-text.ts";

describe("namespaceFault", () => {
  it.each([
    [[], []],
    [["a", ""], [1]],
    [["a", "b.c"], [1]],
    [["langgraph", "a"], [0]],
    [["a", 3], [1]],
    [["x".repeat(1_025)], []],
  ])("names the label at fault in %j", (namespace, path) => {
    expect(namespaceFault(namespace)?.path).toEqual(path);
  });

  it("accepts labels of any other characters", () => {
    expect(namespaceFault(["users", "é/ü *", "1"])).toBeNull();
    expect(labelFault([])).toBeNull();
  });
});

describe("keyFault", () => {
  it("refuses an empty key and one that no index entry could hold", () => {
    expect(keyFault("")).toMatch(/at least one/);
    expect(keyFault("é".repeat(513))).toMatch(/1024 bytes/);
    expect(keyFault("a.b")).toBeNull();
  });
});

describe("lastWrites", () => {
  it("keeps the last write of each item, in one order for all writers", () => {
    const writes = [
      { namespace: ["b"], key: "1", n: 1 },
      { namespace: ["a"], key: "1", n: 2 },
      { namespace: ["b"], key: "1", n: 3 },
    ];
    expect(lastWrites(writes).map((write) => write.n)).toEqual([2, 3]);
  });
});

describe("storableJson", () => {
  it("replaces what jsonb refuses, in names and in values, and nothing else", () => {
    const json = JSON.stringify({ "a\u0000": ["x\uD800y", "\\u0000 is text"] });
    expect(JSON.parse(storableJson(json))).toEqual({ "a\uFFFD": ["x\uFFFDy", "\\u0000 is text"] });
    const plain = JSON.stringify({ a: "\u{1F600}" });
    expect(storableJson(plain)).toBe(plain);
  });
});

describe("expiryOf", () => {
  it("counts in minutes", () => {
    const now = new Date("2030-01-01T00:00:00Z");
    expect(expiryOf(1.5, now)).toEqual(new Date("2030-01-01T00:01:30Z"));
    expect(expiryOf(null, now)).toBeNull();
  });
});

describe("parseFilter", () => {
  it("reads plain values as equality and $-names as comparisons", () => {
    expect(parseFilter({ a: { b: 1 }, n: { $gt: 1, $lte: 9 } })).toEqual({
      conditions: [
        { field: "a", comparison: "$eq", operand: { b: 1 } },
        { field: "n", comparison: "$gt", operand: 1 },
        { field: "n", comparison: "$lte", operand: 9 },
      ],
    });
  });

  it.each([
    [{ n: { $near: 1 } }, ["n", "$near"]],
    [{ n: { $gt: true } }, ["n", "$gt"]],
    [{ n: { $in: 1 } }, ["n", "$in"]],
  ])("refuses %j", (filter, path) => {
    expect(parseFilter(filter)).toMatchObject({ fault: { path } });
  });
});

describe("textsAt", () => {
  const value = {
    title: "Top",
    meta: { tag: "red", n: 3 },
    parts: [{ text: "one" }, { text: "two" }, { other: 1 }],
  };

  it.each([
    ["$", [JSON.stringify(value)]],
    ["title", ["Top"]],
    ["meta.n", ["3"]],
    ["parts[*].text", ["one", "two"]],
    ["parts[0].text", ["one"]],
    ["parts[-2].text", ["two"]],
    ["meta.*", ["red", "3"]],
    ["{title,meta.tag}", ["Top", "red"]],
    ["missing.deep", []],
    ["parts[9].text", []],
  ])("reads %s", (path, texts) => {
    expect(textsAt(value, path)).toEqual(texts);
  });
});

describe("wordsOf", () => {
  it("gives each word once, in lower case", () => {
    expect(wordsOf("What FOOD, what drink? Crème!")).toEqual(["what", "food", "drink", "crème"]);
  });
});
