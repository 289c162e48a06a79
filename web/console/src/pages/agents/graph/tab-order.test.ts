import { expect, it } from "vitest";
import { stepInto } from "./tab-order.ts";

const parts = { nodes: ["a", "b", "c"], bar: ["before", "after"], tools: ["zoom"] };
const step = (current: string, isBack = false, selected = "b") =>
  stepInto({ ...parts, selected, current, isBack });

it("leads from the chosen node to its toolbar, and from there to the next node", () => {
  expect(step("b")).toBe("before");
  expect(step("before")).toBe("after");
  expect(step("after")).toBe("c");
  expect(step("after", false, "c")).toBe("zoom");
});

it("leads back the same way", () => {
  expect(step("c", true)).toBe("after");
  expect(step("after", true)).toBe("before");
  expect(step("before", true)).toBe("b");
});

it("leaves all else to the browser", () => {
  expect(step("a")).toBeUndefined();
  expect(step("b", true)).toBeUndefined();
  expect(step("zoom")).toBeUndefined();
  expect(step("elsewhere")).toBeUndefined();
  expect(stepInto({ ...parts, bar: [], selected: "b", current: "b", isBack: false })).toBeUndefined();
});
