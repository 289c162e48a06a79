import { expect, test } from "vitest";
import { errorPlace } from "./error-place.ts";

const thrown = (...frames: string[]) => Object.assign(new Error("x"), { stack: frames.join("\n") });

test.each([
  ["a module", "    at file:///work/bot/src/agent.ts:7:9", "/work/bot/src/agent.ts", 7],
  ["a function", "    at make (/work/bot/src/my%20agent.ts:12:3)", "/work/bot/src/my%20agent.ts", 12],
  ["an address", "    at async file:///work/bot/my%20agent.ts:1:2", "/work/bot/my agent.ts", 1],
  ["spaces", "    at /work/bot/my agent.ts:5:1", "/work/bot/my agent.ts", 5],
  ["spaces in a function", "    at new A (/work/bot/my agent.ts:5:1)", "/work/bot/my agent.ts", 5],
  ["the parser", "file:///work/bot/agent.js:3", "/work/bot/agent.js", 3],
])("the innermost line of the project: %s", (_what, line, file, number) => {
  const stack = [
    "TypeError: x",
    "    at Object.read (file:///work/bot/node_modules/lib/a.js:1:1)",
    "    at other (/elsewhere/b.ts:2:2)",
    line,
    "    at later (/work/bot/src/later.ts:99:1)",
  ];
  expect(errorPlace(thrown(...stack), "/work/bot")).toEqual({ file, line: number });
});

test("none where no file of the project is on the stack, or there is no stack", () => {
  expect(errorPlace(thrown("Error: x", "    at node:internal/a:1:1"), "/work/bot")).toBeUndefined();
  expect(errorPlace(thrown("Error", "    at /work/bot-2/a.ts:1:1"), "/work/bot")).toBeUndefined();
  expect(errorPlace("a text", "/work/bot")).toBeUndefined();
});
