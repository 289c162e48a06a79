import { describe, expect, test } from "vitest";
import { nameTools, toInputSchema, toToolResult } from "./mcp-tool.ts";

function assistant(name: string, assistant_id: string, graph_id = "echo") {
  return { name, assistant_id, graph_id, description: null };
}

const names = (...given: ReturnType<typeof assistant>[]) => [
  ...nameTools(given, (each) => each.assistant_id === "default").keys(),
];

describe("nameTools", () => {
  test("a default assistant has its graph's name, whatever it is called and whenever it was made", () => {
    expect(names(assistant("echo", "id-11111111"), assistant("renamed", "default"))).toEqual([
      "echo",
      "echo_11111111",
    ]);
  });

  test("names hold only what model providers take", () => {
    expect(names(assistant("Crème brûlée, 2nd try!", "1"), assistant("日本", "2"))).toEqual([
      "Creme_brulee_2nd_try",
      "assistant",
    ]);
    const [long] = names(assistant("x".repeat(200), "1"));
    expect(long).toHaveLength(64);
  });

  test("a name that is taken gets the end of the id, within the length", () => {
    const name = "y".repeat(64);
    const [first, second] = names(assistant(name, "1"), assistant(name, "abc-12345678"));
    expect(first).toBe(name);
    expect(second).toBe(`${"y".repeat(55)}_12345678`);
  });
});

test("an input schema is always of an object", () => {
  expect(toInputSchema(null)).toEqual({ type: "object" });
  expect(toInputSchema({ type: "string" })).toEqual({ type: "object" });
  const schema = { type: "object", properties: { a: {} } };
  expect(toInputSchema(schema)).toEqual(schema);
});

describe("toToolResult", () => {
  test("values are sent as text and as they are", () => {
    expect(toToolResult("t", '{"a":1}')).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
      isError: false,
    });
    expect(toToolResult("t", "[1]").structuredContent).toEqual({ result: [1] });
  });

  test("a failure and a question are errors the model can read", () => {
    const failed = toToolResult("t", '{"__error__":{"error":"TypeError","message":"no"}}');
    expect(failed).toEqual({ content: [{ type: "text", text: "TypeError: no" }], isError: true });
    const asked = toToolResult("t", '{"a":1,"__interrupt__":[{"id":"x","value":"sure?"}]}');
    expect(asked.isError).toBe(true);
    expect(asked.content[0]?.text).toContain("sure?");
  });
});
