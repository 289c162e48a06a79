import { expect, it } from "vitest";
import { updateOf } from "./state-update.ts";

const said = (id: string, content: string) => ({ id, type: "human", content });

it("only what changed is sent", () => {
  expect(updateOf({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 3 } })).toEqual({ b: { c: 3 } });
  expect(updateOf({ a: 1 }, { a: 1 })).toEqual({});
});

it("a field that was taken out becomes null", () => {
  expect(updateOf({ a: 1, b: 2 }, { a: 1 })).toEqual({ b: null });
});

it("of messages the changed and the new ones, and orders to remove the rest", () => {
  const before = { messages: [said("1", "one"), said("2", "two"), said("3", "three")] };
  const edited = { messages: [said("1", "one"), said("2", "zwei"), { role: "user", content: "four" }] };
  expect(updateOf(before, edited)).toEqual({
    messages: [
      { type: "remove", id: "3", content: "" },
      said("2", "zwei"),
      { role: "user", content: "four" },
    ],
  });
  expect(updateOf(before, {}).messages).toHaveLength(3);
});

it("other lists as they are", () => {
  expect(updateOf({ list: [1, 2] }, { list: [2] })).toEqual({ list: [2] });
});
