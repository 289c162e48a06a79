import type { z } from "zod";

/** The part of the answer that depends on the rule that was broken. */
export type IssueWords = { type: string; msg: string; ctx?: Record<string, unknown> };

type RawIssue = z.core.$ZodRawIssue | z.core.$ZodIssue;

const integerText = "Input should be a valid integer";
const integerParsingText = `${integerText}, unable to parse string as an integer`;

/** The wire names of the schema's rules, and their messages where the schema has none of its own. */
export function issueWords(issue: RawIssue): IssueWords {
  switch (issue.code) {
    case "invalid_type":
      return typeWords(issue);
    case "invalid_value":
      return valueWords(issue);
    case "invalid_format":
      return formatWords(issue);
    case "too_big":
      return boundWords(issue.origin, issue.maximum, issue.inclusive !== false, "most");
    case "too_small":
      return boundWords(issue.origin, issue.minimum, issue.inclusive !== false, "least");
    case "not_multiple_of":
      return {
        type: "multiple_of",
        msg: `Input should be a multiple of ${issue.divisor}`,
        ctx: { multiple_of: Number(issue.divisor) },
      };
    case "unrecognized_keys":
      return { type: "extra_forbidden", msg: "Extra inputs are not permitted" };
    case "invalid_union":
      return unionWords(issue);
    case "invalid_key":
      return { type: "invalid_key", msg: "This name is not permitted here" };
    case "invalid_element":
      return { type: "value_error", msg: "An element is not valid" };
    default:
      return { type: "value_error", msg: issue.message ?? "Value error" };
  }
}

function typeWords(issue: Extract<RawIssue, { code: "invalid_type" }>): IssueWords {
  const { input } = issue;
  if (input === undefined) return missing;
  const unparsable = Number.isNaN(input) || typeof input === "string";
  switch (issue.expected) {
    case "string":
      return { type: "string_type", msg: "Input should be a valid string" };
    case "int":
      if (typeof input === "number" && !Number.isInteger(input)) {
        return {
          type: "int_from_float",
          msg: "Input should be a valid integer, got a number with a fractional part",
        };
      }
      return unparsable
        ? { type: "int_parsing", msg: integerParsingText }
        : { type: "int_type", msg: integerText };
    case "number":
      if (issue.message?.startsWith(integerText) || expectsInteger(issue)) {
        return unparsable
          ? { type: "int_parsing", msg: integerParsingText }
          : { type: "int_type", msg: integerText };
      }
      return unparsable
        ? { type: "float_parsing", msg: "Input should be a valid number, unable to parse string as a number" }
        : { type: "float_type", msg: "Input should be a valid number" };
    case "boolean":
      return typeof input === "string"
        ? { type: "bool_parsing", msg: "Input should be a valid boolean, unable to interpret input" }
        : { type: "bool_type", msg: "Input should be a valid boolean" };
    case "array":
    case "tuple":
    case "set":
      return { type: "list_type", msg: "Input should be a valid list" };
    case "object":
    case "record":
    case "map":
      return { type: "dict_type", msg: "Input should be a valid dictionary" };
    case "null":
      return { type: "none_required", msg: "Input should be None" };
    case "date":
      return { type: "datetime_parsing", msg: "Input should be a valid datetime" };
    default:
      return { type: "value_error", msg: `Input should be a valid ${issue.expected}` };
  }
}

type NumberDefinition = { format?: string; checks?: { _zod: { def: { format?: string } } }[] };

/** The schema is known only while the message is being chosen, so the message also serves as the mark. */
function expectsInteger(issue: RawIssue): boolean {
  const { inst } = issue as { inst?: { _zod?: { def?: NumberDefinition } } };
  const definition = inst?._zod?.def;
  const formats = [definition?.format, ...(definition?.checks ?? []).map((check) => check._zod.def.format)];
  return formats.some((format) => format !== undefined && /int/.test(format));
}

function valueWords(issue: Extract<RawIssue, { code: "invalid_value" }>): IssueWords {
  if (issue.input === undefined) return missing;
  if ((issue as { expected?: string }).expected === "stringbool") {
    return { type: "bool_parsing", msg: "Input should be a valid boolean, unable to interpret input" };
  }
  const expected = listed(issue.values);
  const type = issue.values.length === 1 ? "literal_error" : "enum";
  return { type, msg: `Input should be ${expected}`, ctx: { expected } };
}

function formatWords(issue: Extract<RawIssue, { code: "invalid_format" }>): IssueWords {
  switch (issue.format) {
    case "uuid":
    case "guid":
      return { type: "uuid_parsing", msg: "Input should be a valid UUID" };
    case "datetime":
      return { type: "datetime_parsing", msg: "Input should be a valid datetime in ISO 8601 form" };
    case "date":
      return { type: "date_parsing", msg: "Input should be a valid date in the form YYYY-MM-DD" };
    case "time":
      return { type: "time_parsing", msg: "Input should be a valid time" };
    case "url":
      return { type: "url_parsing", msg: "Input should be a valid URL" };
    case "json_string":
      return { type: "json_invalid", msg: "Input should be valid JSON" };
    case "regex": {
      const pattern = String(issue.pattern ?? "");
      return {
        type: "string_pattern_mismatch",
        msg: `String should match pattern ${pattern}`,
        ctx: { pattern },
      };
    }
    default:
      return { type: "value_error", msg: `Input should be a valid ${issue.format}` };
  }
}

function boundWords(origin: string, bound: unknown, inclusive: boolean, side: "most" | "least"): IssueWords {
  const limit = typeof bound === "bigint" ? Number(bound) : bound;
  const tooMuch = side === "most";
  if (origin === "string") {
    return tooMuch
      ? {
          type: "string_too_long",
          msg: `String should have at most ${limit} characters`,
          ctx: { max_length: limit },
        }
      : {
          type: "string_too_short",
          msg: `String should have at least ${limit} characters`,
          ctx: { min_length: limit },
        };
  }
  if (
    origin === "array" ||
    origin === "set" ||
    origin === "map" ||
    origin === "object" ||
    origin === "file"
  ) {
    return tooMuch
      ? { type: "too_long", msg: `Input should have at most ${limit} items`, ctx: { max_length: limit } }
      : { type: "too_short", msg: `Input should have at least ${limit} items`, ctx: { min_length: limit } };
  }
  if (tooMuch) {
    return inclusive
      ? { type: "less_than_equal", msg: `Input should be less than or equal to ${limit}`, ctx: { le: limit } }
      : { type: "less_than", msg: `Input should be less than ${limit}`, ctx: { lt: limit } };
  }
  return inclusive
    ? {
        type: "greater_than_equal",
        msg: `Input should be greater than or equal to ${limit}`,
        ctx: { ge: limit },
      }
    : { type: "greater_than", msg: `Input should be greater than ${limit}`, ctx: { gt: limit } };
}

function unionWords(issue: Extract<RawIssue, { code: "invalid_union" }>): IssueWords {
  if (issue.input === undefined) return missing;
  const { discriminator, options } = issue as { discriminator?: string; options?: unknown[] };
  if (discriminator !== undefined && options !== undefined) {
    const expected = listed(options);
    return {
      type: "union_tag_invalid",
      msg: `Input should be ${expected}`,
      ctx: { discriminator, expected },
    };
  }
  return { type: "value_error", msg: "Input matches none of the permitted forms" };
}

const missing: IssueWords = { type: "missing", msg: "Field required" };

function listed(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
