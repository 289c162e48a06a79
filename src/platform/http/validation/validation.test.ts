import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "../../errors.ts";
import { listNamesOf, queryList, queryOf } from "./query.ts";
import { publicIssue, validate } from "./validation.ts";

function issuesOf(schema: z.ZodType, value: unknown) {
  try {
    validate(schema, value, "body");
  } catch (error) {
    if (error instanceof AppError) return error.issues ?? [];
    throw error;
  }
  throw new Error("the value was accepted");
}
const firstOf = (schema: z.ZodType, value: unknown) => issuesOf(schema, value)[0]!;

describe("the words for a broken rule", () => {
  it.each<[string, z.ZodType, unknown]>([
    ["missing", z.object({ a: z.string() }), {}],
    ["missing", z.object({ a: z.enum(["x"]) }), {}],
    ["missing", z.object({ a: z.union([z.string(), z.int()]) }), {}],
    ["string_type", z.string(), 5],
    ["int_type", z.int(), true],
    ["int_parsing", z.int(), "5"],
    ["int_from_float", z.int(), 1.5],
    ["float_type", z.number(), []],
    ["float_parsing", z.coerce.number(), "many"],
    ["bool_type", z.boolean(), 1],
    ["bool_parsing", z.stringbool(), "maybe"],
    ["list_type", z.array(z.string()), {}],
    ["dict_type", z.object({}), []],
    ["dict_type", z.record(z.string(), z.string()), "x"],
    ["none_required", z.null(), 1],
    ["literal_error", z.literal("a"), "b"],
    ["enum", z.enum(["a", "b"]), "c"],
    ["uuid_parsing", z.guid(), "x"],
    ["datetime_parsing", z.iso.datetime(), "yesterday"],
    ["date_parsing", z.iso.date(), "x"],
    ["url_parsing", z.url(), "x"],
    ["string_pattern_mismatch", z.string().regex(/^a/), "b"],
    ["string_too_short", z.string().min(2), "b"],
    ["string_too_long", z.string().max(1), "bb"],
    ["too_short", z.array(z.string()).min(1), []],
    ["too_long", z.array(z.string()).max(0), ["a"]],
    ["greater_than_equal", z.number().min(1), 0],
    ["greater_than", z.number().gt(1), 1],
    ["less_than_equal", z.number().max(1), 2],
    ["less_than", z.number().lt(1), 1],
    ["multiple_of", z.number().multipleOf(5), 4],
    ["extra_forbidden", z.strictObject({}), { a: 1 }],
    [
      "union_tag_invalid",
      z.discriminatedUnion("t", [z.object({ t: z.literal("a") }), z.object({ t: z.literal("b") })]),
      { t: "c" },
    ],
    ["value_error", z.string().refine(() => false, "no good"), "x"],
  ])("%s", (type, schema, value) => {
    const issue = firstOf(schema, value);
    expect(issue.type).toBe(type);
    expect(issue.msg).not.toBe("");
  });
  it("names every key too many", () => {
    expect(issuesOf(z.strictObject({}), { a: 1, b: 2 }).map(({ loc }) => loc)).toEqual([
      ["body", "a"],
      ["body", "b"],
    ]);
  });
  it("takes the schema's own message", () => {
    expect(firstOf(z.string().min(3, "give three"), "a").msg).toBe("give three");
  });
  it("shows the form of a union the caller most likely meant", () => {
    const schema = z.union([z.string(), z.object({ a: z.object({ b: z.int() }) })]);
    expect(firstOf(schema, { a: { b: "x" } })).toMatchObject({
      loc: ["body", "a", "b"],
      type: "int_parsing",
    });
    expect(firstOf(schema, 5)).toMatchObject({
      loc: ["body"],
      msg: "Input should be one of: string, object",
    });
  });
});

describe("what is echoed", () => {
  const issue = (loc: (string | number)[], input: unknown) =>
    publicIssue({ loc, msg: "m", type: "t", input }).input;
  it("keeps plain values, shortened", () => {
    expect(issue(["body", "name"], "x")).toBe("x");
    expect(issue(["body", "name"], null)).toBe(null);
    expect(issue(["body", "name"], "x".repeat(5000))).toHaveLength(201);
    expect(issue(["path", "token_id"], "nope")).toBe("nope");
  });
  it.each([
    "secrets",
    "password",
    "client_secret",
    "access_token",
    "api_key",
    "apiKey",
    "credentials",
    "key",
    "value",
    "private_key",
  ])("hides what lies under %s", (name) => {
    expect(issue(["body", name, 0], "hunter2")).toBeUndefined();
  });
  it("hides objects and addresses with a password in them", () => {
    expect(issue(["body", "x"], { any: "hunter2" })).toBeUndefined();
    expect(issue(["body", "url"], "https://me:hunter2@host/")).toBeUndefined();
  });
});

describe("queryOf", () => {
  const schema = z.object({
    one: z.string().optional(),
    many: queryList(z.string()).optional(),
    plain: z.array(z.string()).default([]),
    either: z.union([z.string(), z.array(z.string())]).optional(),
  });
  it("knows the lists of a schema", () => {
    expect([...(listNamesOf(schema) ?? [])]).toEqual(["many", "plain", "either"]);
    expect([...(listNamesOf(schema.refine(() => true)) ?? [])]).toEqual(["many", "plain", "either"]);
    expect([...(listNamesOf(schema.transform((value) => value)) ?? [])]).toEqual(["many", "plain", "either"]);
    expect(listNamesOf(z.record(z.string(), z.string()))).toBeUndefined();
  });
  it("reads the query", () => {
    const url = "http://h/p?one=1&one=2&many=a&plain=b&plain=c%20d&x=+#f?many=z";
    expect({ ...queryOf(url, listNamesOf(schema)) }).toEqual({
      one: "2",
      many: ["a"],
      plain: ["b", "c d"],
      x: " ",
    });
    expect({ ...queryOf(url) }).toEqual({ one: ["1", "2"], many: "a", plain: ["b", "c d"], x: " " });
    expect(Object.keys(queryOf("http://h/p"))).toEqual([]);
  });
  it("does not mind odd names", () => {
    const query = queryOf("http://h/?__proto__=1&constructor=2&%ff=3");
    expect(Object.keys(query)).toEqual(["__proto__", "constructor", "\ufffd"]);
  });
});
