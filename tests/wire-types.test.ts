import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { generateWireTypes } from "../scripts/generate-wire-types.ts";
import { typeText, type WireSchema } from "../scripts/wire-type-text.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

describe("a schema as a type", () => {
  const cases: [WireSchema, string][] = [
    [{ type: "integer" }, "number"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ const: "s3" }, '"s3"'],
    [{ enum: ["asc", "desc"] }, '"asc" | "desc"'],
    [{ anyOf: [{ $ref: "#/components/schemas/Run" }, { type: "null" }] }, "Run | null"],
    [{ anyOf: [{ type: "string" }, {}] }, "unknown"],
    [{ type: "array", items: { enum: [1, 2] } }, "(1 | 2)[]"],
    [{ type: "array", items: { type: "object", properties: {} } }, "Record<string, unknown>[]"],
    [{ type: "array", prefixItems: [{ type: "string" }, { type: "number" }] }, "[string, number]"],
    [{ type: "object", additionalProperties: { type: "boolean" } }, "Record<string, boolean>"],
    [
      {
        type: "object",
        properties: { "a-b": { type: "null" }, c: {} },
        required: ["c"],
        additionalProperties: {},
      },
      '{\n  "a-b"?: null;\n  c: unknown;\n}',
    ],
    [{ allOf: [{ $ref: "#/x/A" }, { anyOf: [{ $ref: "#/x/B" }, { $ref: "#/x/C" }] }] }, "A & (B | C)"],
  ];
  it.each(cases)("%j", (schema, text) => expect(typeText(schema)).toBe(text));

  it("a type nobody knows is no type", () => {
    expect(() => typeText({ type: "file" })).toThrow(/does not know: file/);
  });
});

it("operations say what they take and answer with", () => {
  const json = (schema: WireSchema) => ({ content: { "application/json": { schema } } });
  const document = {
    components: { schemas: { Thing: { type: "object", properties: { id: { type: "string" } } } } },
    paths: {
      "/things": {
        post: {
          operationId: "make_thing",
          requestBody: json({ type: "string" }),
          responses: { 201: json({ $ref: "#/components/schemas/Thing" }), 404: json({ type: "null" }) },
        },
        delete: { operationId: "end_things", responses: { 204: {} } },
      },
    },
  };
  const { content } = generateWireTypes(JSON.stringify(document));
  expect(content).toContain("export type Thing = {\n  id?: string;\n};");
  expect(content).toContain("export type Answers = {\n  make_thing: Thing;\n};");
  expect(content).toContain("export type Bodies = {\n  make_thing: string;\n};");
});

/** What a client asks for by hand is the one thing the type checker cannot compare with the server. */
it("the console writes no answer's shape by hand", () => {
  const folder = join(root, "web/console/src");
  const byHand = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          /\.(get|post|put|patch|delete)<\s*\{/.test(line) ? [`${name}:${index + 1}: ${line.trim()}`] : [],
        ),
    );
  expect(byHand).toEqual([]);
});
