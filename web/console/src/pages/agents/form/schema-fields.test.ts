import { describe, expect, it } from "vitest";
import { fieldsOf, readForm, textsOf } from "./schema-fields.ts";

const schema = {
  type: "object",
  properties: {
    messages: { type: "array", items: {}, langgraph_type: "messages" },
    topic: { type: "string", description: "What about." },
    count: { type: "integer", minimum: 1, maximum: 5, default: 2 },
    loud: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    tone: { $ref: "#/$defs/Tone" },
    size: { anyOf: [{ const: "s" }, { const: "l" }] },
    extra: { type: "object", properties: {} },
    system_prompt: { type: ["string", "null"] },
  },
  required: ["topic", "count"],
  $defs: { Tone: { enum: ["kind", "terse"], title: "Tone" } },
};
const fields = fieldsOf(schema);
const field = (name: string) => fields.find((each) => each.name === name)!;

describe("fields", () => {
  it("have the kind of their schema, through references and optional ones", () => {
    expect(fields.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
      "messages: message",
      "topic: text",
      "count: integer",
      "loud: boolean",
      "tone: choice",
      "size: choice",
      "extra: json",
      "system_prompt: long text",
    ]);
    expect(field("tone")).toMatchObject({ title: "Tone", options: ["kind", "terse"] });
    expect(field("size").options).toEqual(["s", "l"]);
    expect(field("topic")).toMatchObject({ required: true, description: "What about." });
    expect(field("count")).toMatchObject({ standard: "2", least: 1, most: 5 });
  });

  it("are none where the graph declares nothing", () => {
    expect(fieldsOf(null)).toEqual([]);
    expect(fieldsOf({ type: "object" })).toEqual([]);
  });
});

describe("what is typed", () => {
  it("becomes values of the right types", () => {
    const texts = { messages: " hi ", topic: "42", count: "3", loud: "true", tone: "kind", extra: '{"a":1}' };
    expect(readForm(fields, texts)).toEqual({
      problems: {},
      values: {
        messages: [{ role: "user", content: "hi" }],
        topic: "42",
        count: 3,
        loud: true,
        tone: "kind",
        extra: { a: 1 },
      },
    });
  });

  it("is complained about by field", () => {
    const { problems } = readForm(fields, { count: "9", extra: "{a" });
    expect(problems).toEqual({
      topic: "The graph needs this.",
      count: "At most 5.",
      extra: "This is not JSON yet. Strings need double quotes.",
    });
    expect(readForm(fields, { topic: "x", count: "1.5" }).problems.count).toBe(
      "This must be a whole number.",
    );
    expect(readForm(fields, { topic: "x", count: "many" }).problems.count).toBe("This must be a number.");
  });

  it("and what is there already is shown as it would be typed", () => {
    expect(textsOf(fields, { topic: "a", count: 3, loud: false, extra: { b: [1] }, unknown: 1 })).toEqual({
      topic: "a",
      count: "3",
      loud: "false",
      extra: '{\n  "b": [\n    1\n  ]\n}',
    });
  });
});
