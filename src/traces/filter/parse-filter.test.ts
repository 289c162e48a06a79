import { describe, expect, test } from "vitest";
import { AppError } from "../../platform/errors.ts";
import { maxComparisons, maxDepth, maxLength } from "./filter-parser.ts";
import { parseFilter } from "./parse-filter.ts";

function refusal(text: string): { msg: string; ctx: Record<string, unknown> } {
  try {
    parseFilter(text);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.kind).toBe("unprocessable");
    const [issue] = error.issues!;
    expect(issue!.loc).toEqual(["body", "filter"]);
    return { msg: issue!.msg, ctx: issue!.ctx! };
  }
  throw new Error(`The filter was accepted: ${text}`);
}

const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

describe("what is read", () => {
  test.each([
    ['eq(name, "x")', { op: "eq", field: "name", value: "x" }],
    ["eq(name,'it\\'s')", { op: "eq", field: "name", value: "it's" }],
    ['eq("name" , "a\\n\\u00e9")', { op: "eq", field: "name", value: "a\né" }],
    ['like(name, "50\\%")', { op: "like", field: "name", value: "50\\%" }],
    ['notlike(name, "%x%")', { op: "nlike", field: "name", value: "%x%" }],
    ["gt(latency, 5)", { op: "gt", field: "latency", value: 5 }],
    ['gt(latency, "1.5s")', { op: "gt", field: "latency", value: 1.5 }],
    ["lt(total_tokens, -1e2)", { op: "lt", field: "total_tokens", value: -100 }],
    ["eq(error, null)", { op: "eq", field: "error", value: null }],
    ["eq(is_root, True)", { op: "eq", field: "is_root", value: true }],
    [`in(id, ['${id.toUpperCase()}'])`, { op: "in", field: "id", value: [id] }],
    [`in(id, ['${id.replaceAll("-", "")}'])`, { op: "in", field: "id", value: [id] }],
    [`eq(id, '${id.replace("-", "")}')`, { op: "eq", field: "id", value: id }],
    ["in(run_type, [])", { op: "in", field: "run_type", value: [] }],
    ["eq(metadata_value, 7)", { op: "eq", field: "metadata_value", value: "7" }],
    ["eq(feedback_score, true)", { op: "eq", field: "feedback_score", value: 1 }],
    [`has(metadata, '{"a": 1}')`, { op: "has", field: "metadata", value: '{"a": 1}' }],
    ['exists(metadata, "k")', { op: "exists", field: "metadata", value: "k" }],
  ])("%s", (text, comparison) => {
    expect(parseFilter(text)).toEqual({ kind: "compare", ...comparison });
  });

  test.each([
    ["2026-01-31", "2026-01-31T00:00:00.0Z"],
    ["2026-01-31T09:30", "2026-01-31T09:30:00.0Z"],
    ["2026-01-31 09:30:01.123456", "2026-01-31T09:30:01.123456Z"],
    ["2024-02-29T09:30:01z", "2024-02-29T09:30:01.0Z"],
    ["2026-01-31T09:30:01+0530", "2026-01-31T09:30:01.0+05:30"],
    ["2026-01-31T09:30:01-08", "2026-01-31T09:30:01.0-08:00"],
  ])("the time %s", (text, value) => {
    expect(parseFilter(`gte(start_time, "${text}")`)).toMatchObject({ value });
  });

  test("search with and without a field", () => {
    expect(parseFilter('search("two  words")')).toEqual({
      kind: "search",
      field: null,
      tokens: ["two", "words"],
    });
    for (const text of ['search(name, "x")', `search('name', "x")`]) {
      expect(parseFilter(text)).toEqual({ kind: "search", field: "name", tokens: ["x"] });
    }
  });

  test("groups, also of one, over several lines", () => {
    const filter = parseFilter(`
      and(
        or(eq(status, "error"), not(gt(latency, 5))),
        and(eq(is_root, true))
      )`);
    expect(filter).toMatchObject({
      kind: "and",
      parts: [
        { kind: "or", parts: [{ field: "status" }, { kind: "not", part: { field: "latency" } }] },
        { kind: "and", parts: [{ field: "is_root" }] },
      ],
    });
  });
});

describe("what is refused, and where", () => {
  test.each([
    ["", 0, "an operator"],
    ["   ", 3, "an operator"],
    ["eq(name", 7, '","'],
    ['eq(name "x")', 8, '","'],
    ['eq(name, "x"', 12, '")"'],
    ['eq(name, "x")) ', 13, "the end of the filter"],
    ["eq(name, x)", 9, "a value"],
    ['eq(name, "x', 9, 'a closing "'],
    ['eq(name, "\\u12")', 10, "four hexadecimal digits"],
    ['is(name, "x")', 0, "one of and, or, not"],
    ['constructor(name, "x")', 0, "one of and, or, not"],
    ['eq(nmae, "x")', 3, "one of id, trace_id"],
    ['eq(toString, "x")', 3, "one of id, trace_id"],
    ["and()", 4, "an operator"],
    ['and(eq(name, "x"),)', 18, "an operator"],
    ['not(eq(name, "x"), eq(name, "y"))', 17, '")"'],
    ["eq(name, [[1]])", 10, "a value"],
    ['gt(name, "x")', 0, "one of eq, neq"],
    ['has(name, "x")', 0, "one of eq, neq"],
    ['eq(id, "x")', 7, "a uuid"],
    ["eq(name, 5)", 9, "quoted text"],
    ['eq(is_root, "true")', 12, "true or false"],
    ['gt(total_tokens, "5")', 17, "a number"],
    ['gt(latency, "5m")', 12, "seconds"],
    ['eq(run_type, "LLM")', 13, '"llm"'],
    ['gt(start_time, "yesterday")', 15, "an ISO 8601 time"],
    ['gt(start_time, "2026-02-30T00:00:00Z")', 15, "an ISO 8601 time"],
    ["gt(start_time, 1700000000)", 15, "an ISO 8601 time"],
    ['in(name, "x")', 9, "[value, value]"],
    ["has(metadata, 'x')", 14, "text such as"],
    ['like(name, "x\\\\")', 11, "two backslashes"],
    ['search("  ")', 7, "some text"],
    ['search(latency, "x")', 7, "a field that holds text"],
  ])("%s", (text, offset, expected) => {
    const { ctx, msg } = refusal(text);
    expect(ctx).toMatchObject({ offset, expected: expect.stringContaining(expected) });
    expect(msg).toContain(`Expected ${ctx.expected}`);
  });

  test.each([
    ["eq(name", "ends_too_early", undefined],
    ['eq(name, "x', "ends_too_early", undefined],
    ['eq(name "x")', "unexpected_text", undefined],
    ['is(name, "x")', "unknown_operator", "is"],
    ['eq(nmae, "x")', "unknown_field", "nmae"],
    ['gt(name, "x")', "operator_does_not_apply", "gt"],
    ["eq(name, 5)", "value_not_valid", undefined],
    ["eq(total_tokens, 1e999)", "too_large", undefined],
  ])("%s is reported to programs as %s", (text, reason, found) => {
    const { ctx, msg } = refusal(text);
    expect(ctx).toMatchObject({ reason, problem: expect.stringMatching(/\.$/) });
    expect(msg.startsWith(String(ctx.problem))).toBe(true);
    expect(ctx.found).toBe(found);
    expect(Array.isArray(ctx.choices)).toBe(found !== undefined);
  });

  test.each([
    ["gt(name, null)", 0],
    ["gt(start_time, null)", 15],
    ["eq(metadata_key, null)", 17],
    ["neq(input_value, null)", 17],
    ["in(output_value, [null])", 18],
    ["eq(name, ['x'])", 9],
    ["in(name, [null])", 10],
    ["eq(name, 'a\\u0000')", 9],
    ["gt(latency, 1e999)", 12],
    ["eq(name, #)", 9],
    ['eq(name, "x"); drop table trace_runs', 13],
  ])("%s", (text, offset) => {
    expect(refusal(text).ctx).toMatchObject({ offset });
  });

  test("lines and columns are counted from one", () => {
    expect(refusal('and(\n  eq(name, "x"),\n  eq(nmae, "y"))').ctx).toMatchObject({ line: 3, column: 6 });
  });

  test("depth, number and length have limits", () => {
    const nested = (depth: number) => `${"not(".repeat(depth - 1)}eq(is_root, true)${")".repeat(depth - 1)}`;
    expect(parseFilter(nested(maxDepth))).toMatchObject({ kind: "not" });
    expect(refusal(nested(maxDepth + 1)).msg).toContain("nested deeper");
    expect(refusal("not(".repeat(49_000)).msg).toContain("nested deeper");
    expect(refusal(`or(${Array(maxComparisons + 1).fill("eq(is_root,true)")})`).msg).toContain("comparisons");
    expect(refusal(`search("${"w ".repeat(maxComparisons + 1)}")`).msg).toContain("send several queries");
    expect(refusal(`search("${"x".repeat(maxLength)}")`).msg).toContain("longer");
  });
});
