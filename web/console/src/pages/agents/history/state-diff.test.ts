import { expect, it } from "vitest";
import { diffState, writersOf } from "./state-diff.ts";

const said = (id: string, content: string) => ({ id, type: "ai", content });

it("a field that came, went, or has another value", () => {
  expect(diffState({ a: 1, b: 2, c: 3 }, { b: 2, c: 4, d: 5 })).toEqual([
    { channel: "a", path: [], kind: "removed", before: 1 },
    { channel: "c", path: [], kind: "changed", before: 3, after: 4 },
    { channel: "d", path: [], kind: "added", after: 5 },
  ]);
});

it("of a list only the items that are new or different, by their ids", () => {
  const before = { messages: [said("1", "one"), said("2", "two")] };
  const after = { messages: [said("2", "two!"), said("3", "three")] };
  expect(diffState(before, after)).toEqual([
    { channel: "messages", path: ["1"], kind: "removed", before: said("1", "one") },
    { channel: "messages", path: ["2"], kind: "changed", before: said("2", "two"), after: said("2", "two!") },
    { channel: "messages", path: ["3"], kind: "added", after: said("3", "three") },
  ]);
});

it("inside objects, by key", () => {
  expect(diffState({ plan: { a: { b: 1 }, c: 2 } }, { plan: { a: { b: 9 }, c: 2 } })).toEqual([
    { channel: "plan", path: ["a", "b"], kind: "changed", before: 1, after: 9 },
  ]);
  expect(diffState({ list: [1, 2] }, { list: [1, 2, 3] })).toEqual([
    { channel: "list", path: ["2"], kind: "added", after: 3 },
  ]);
});

it("nothing when nothing changed", () => {
  expect(diffState({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
});

it("nothing when the same fields come in another order", () => {
  const before = { messages: [{ id: "1", type: "human", content: [{ type: "text", text: "Hi" }] }] };
  const after = { messages: [{ content: [{ text: "Hi", type: "text" }], type: "human", id: "1" }] };
  expect(diffState(before, after)).toEqual([]);
});

it("a field belongs to the nodes that returned it", () => {
  const tasks = [
    { name: "left", result: { a: 1 } },
    { name: "right", result: { b: 1 } },
  ];
  expect(writersOf(tasks, "a")).toEqual(["left"]);
  expect(writersOf(tasks, "c")).toEqual(["left", "right"]);
  expect(writersOf([{ name: "x" }, { name: "x" }], "a")).toEqual(["x"]);
});
