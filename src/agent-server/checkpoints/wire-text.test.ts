import { describe, expect, it } from "vitest";
import { toWire } from "./message-wire.ts";
import { WireText, wireTexts } from "./wire-text.ts";

const human = (content: string) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", "HumanMessage"],
  kwargs: { content, additional_kwargs: {}, response_metadata: {} },
});
const json = (value: unknown) => ({ type: "json", text: JSON.stringify(value) });
const textOf = (text: WireText) => Buffer.concat(text.pieces).toString();

describe("the wire text of a channel's versions", () => {
  it.each<[string, unknown[]]>([
    ["a list that grows", [[], [human("a")], [human("a"), human("b]")], [human("a"), human("b]"), 3, null]]],
    ["numbers that begin alike", [[1], [12], [12, 3], [123, 4], [12, 3, -0.5]]],
    ["texts that begin alike", [["a"], ['a","b'], ["a", "b"], ["a,"], ["]"], ["],"]]],
    ["lists in lists", [[[1]], [[1, 2]], [[1], 2], [[1], 2, [3]]]],
    [
      "branches",
      [
        [1, 2],
        [1, 3],
        [1, 2, 4],
        [1, 3, 4],
        [1, 3, 4, { a: [] }],
      ],
    ],
    ["no lists", [{ a: 1 }, { a: 1, b: 2 }, "text", { a: [human("ü🌱")] }]],
    ["a list and no list", ["[1", [1], "[1,2]", [1, 2]]],
  ])("is that of each alone: %s", (_, values) => {
    const payloads = values.map(json);
    const texts = wireTexts(payloads);
    expect(payloads.map((payload) => textOf(texts.get(payload)!))).toEqual(
      values.map((value) => JSON.stringify(toWire(value))),
    );
  });

  it("shares what versions have in common", () => {
    const payloads = [json([human("a")]), json([human("a"), human("b")])];
    const [first, second] = [...wireTexts(payloads).values()];
    expect(second?.pieces[0]).toBe(first?.pieces[0]);
  });

  it("is that of the whole where a version is stored as what it adds to another", () => {
    const base = { ...json([human("a"), human("b")]), version: "1" };
    const grown = (added: string) => ({
      ...{ type: "json", grown: { base, added } },
      get text(): string {
        throw new Error("It need not be put together.");
      },
    });
    const one = grown(`,${JSON.stringify(human("ü"))}]`);
    const two = grown(`,${JSON.stringify(human("ü"))},3]`);
    const texts = wireTexts([two, grown("]"), one]);
    const expected = [[], [human("ü")], [human("ü"), 3]].map((added) => [human("a"), human("b"), ...added]);
    expect([...texts.values()].map(textOf)).toEqual(expected.map((value) => JSON.stringify(toWire(value))));
    expect(texts.get(two)?.pieces[0]).toBe(texts.get(one)?.pieces[0]);
  });

  it("is left to the graph where JSON is not all there is to it", () => {
    const undefinedRecord = { lc: 2, type: "undefined" };
    const plain = json([1]);
    const special = [json([1, undefinedRecord]), json(undefinedRecord), { type: "bytes", text: "AAE=" }];
    const after = json([1, undefinedRecord, 2]);
    expect([...wireTexts([plain, ...special, after]).keys()]).toEqual([plain]);
  });

  it("can still be looked into", () => {
    const payload = json([human("a")]);
    const text = wireTexts([payload]).get(payload)!;
    expect(text).toBeInstanceOf(WireText);
    expect(JSON.stringify({ text })).toBe(JSON.stringify({ text: toWire([human("a")]) }));
    expect(toWire({ text })).toEqual({ text: toWire([human("a")]) });
  });
});
