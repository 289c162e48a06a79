import { expect, it } from "vitest";
import { eventNameOf, methodOf, nameOf } from "./event-name.ts";
import { defaultGraphId } from "./unnamed-assistant.ts";

it("an event is filed under its method, a custom one under the name it gives itself", () => {
  expect(eventNameOf("values", { name: "x" })).toBe("values");
  expect(eventNameOf("custom", { name: "progress" })).toBe("custom:progress");
  for (const data of [undefined, null, 5, {}, { name: "" }, { name: 1 }]) {
    expect(eventNameOf("custom", data)).toBe("custom");
  }
  expect(["custom:progress", "custom", "values"].map(methodOf)).toEqual(["custom", "custom", "values"]);
});

it("the node of a namespace segment is what stands before its task", () => {
  expect(["tools:1", "tools"].map(nameOf)).toEqual(["tools", "tools"]);
});

it("without a name the graph `agent` runs, or the only one there is", () => {
  expect(defaultGraphId(["echo", "agent"])).toBe("agent");
  expect(defaultGraphId(["writer"])).toBe("writer");
  expect(defaultGraphId(["writer", "reader"])).toBeUndefined();
  expect(defaultGraphId([])).toBeUndefined();
});
