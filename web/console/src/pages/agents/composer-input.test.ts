import { expect, it } from "vitest";
import { inputModes, inputOf, nothingWritten } from "./composer-input.ts";
import { fieldsOf } from "./form/schema-fields.ts";

const messages = { type: "array", langgraph_type: "messages" };
const fields = (properties: object, required: string[] = []) =>
  fieldsOf({ type: "object", properties, required });

it("a graph is talked to, filled in, or both; JSON goes always", () => {
  expect(inputModes(fields({ messages }))).toEqual(["message", "json"]);
  expect(inputModes(fields({ topic: { type: "string" } }))).toEqual(["form", "json"]);
  expect(inputModes(fields({ messages, topic: { type: "string" } }))).toEqual(["message", "form", "json"]);
  expect(inputModes([])).toEqual(["message", "json"]);
});

it("what is written becomes input", () => {
  expect(inputOf("message", { ...nothingWritten, text: " hi " }, []).input).toEqual({
    messages: [{ role: "user", content: "hi" }],
  });
  expect(inputOf("json", { ...nothingWritten, json: "[1]" }, []).input).toEqual([1]);
  const topic = fields({ topic: { type: "string" } });
  expect(inputOf("form", { ...nothingWritten, form: { topic: "looms" } }, topic).input).toEqual({
    topic: "looms",
  });
});

it("what cannot be sent is not input", () => {
  for (const mode of ["message", "json"] as const)
    expect(inputOf(mode, nothingWritten, []).input).toBeUndefined();
  const topic = fields({ topic: { type: "string" } }, ["topic"]);
  expect(inputOf("form", nothingWritten, topic)).toEqual({
    input: undefined,
    problems: { topic: "The graph needs this." },
  });
});
