import { type Comparison, type FieldName, fieldOf, type Scalar } from "../../../filter/filter.ts";
import { pairsOf, pairTerm, tagTerm } from "../../../runs/term.ts";
import {
  all,
  any,
  type Condition,
  holdsTokens,
  jsonHoldsToken,
  likePattern,
  negate,
  testOrdered,
  testText,
  type Values,
} from "./condition.ts";
import { containsJson, hasPath } from "./json-condition.ts";

/** A comparison on a column of the run itself. */
export function compileField(test: Comparison, values: Values): Condition {
  const column = columnOf(test.field);
  switch (fieldOf(test.field).type) {
    case "uuid":
      return testOrdered(column, test, { values, type: "UUID" });
    case "time":
      return testOrdered(column, withValues(test, nearestTime), { values, type: "String", cast: toTime });
    case "integer":
      return testOrdered(column, test, { values, type: "Float64" });
    case "number":
      return testOrdered(column, withValues(test, nearestCost), { values, type: "String", cast: toCost });
    case "duration":
      return testOrdered(latency, test, { values, type: "Float64" });
    case "boolean":
      return testBoolean(column, test);
    case "tags":
      return testTags(column, test, values);
    case "json":
      return testJson(column, test, values);
    default:
      return testText(column, test, values);
  }
}

const toTime = (text: Condition) => `parseDateTime64BestEffort(${text}, 6, 'UTC')`;
const toCost = (text: Condition) => `toDecimal128(${text}, 18)`;

export const timeOf = (values: Values) => (time: string) => toTime(values.bind(nearestTime(time), "String"));

/** Beyond the times a column can hold, the first or the last of them is compared with. */
function nearestTime(time: Scalar): string {
  const year = Number.parseInt(String(time), 10);
  if (year < 1900) return "1900-01-01T00:00:00Z";
  return year > 2299 ? "2299-12-31T23:59:59.999999Z" : String(time);
}

/** A column holds twenty digits before the point. */
function nearestCost(cost: Scalar): string {
  const largest = "9".repeat(20);
  if (Math.abs(Number(cost)) < 1e20) return String(cost);
  return Number(cost) < 0 ? `-${largest}` : largest;
}

function withValues(test: Comparison, change: (value: Scalar) => Scalar): Comparison {
  const { value } = test;
  if (value === null) return test;
  return { ...test, value: Array.isArray(value) ? value.map(change) : change(value) };
}

/** Columns have their fields' names, but for the project, which clients call a session. */
export function columnOf(field: FieldName): Condition {
  return field === "session_id" ? "project_id" : field;
}

export const latency: Condition = "(dateDiff('microsecond', start_time, end_time) / 1e6)";

export function searchField(field: FieldName, tokens: readonly string[], values: Values): Condition {
  const column = columnOf(field);
  if (field === "metadata" || field === "inputs" || field === "outputs")
    return all(tokens.map((token) => jsonHoldsToken(column, token, values)));
  // Where there is no error its text is empty; it is this column that is indexed.
  if (field === "error") return holdsTokens("error_text", tokens, values);
  if (field === "tags") return `arrayExists(tag -> ${holdsTokens("tag", tokens, values)}, ${column})`;
  return holdsTokens(column, tokens, values);
}

const searchedFields = ["name", "error", "inputs", "outputs"] as const;

/** Each token may stand in another of the run's texts. */
export function searchAnywhere(tokens: readonly string[], values: Values): Condition {
  return all(
    tokens.map((token) => any(searchedFields.map((field) => ifKnown(searchField(field, [token], values))))),
  );
}

const ifKnown = (condition: Condition) => `ifNull(${condition}, false)`;

function testBoolean(column: Condition, { op, value }: Comparison): Condition {
  if (value === null) return op === "neq" ? `(${column} is not null)` : `(${column} is null)`;
  return (op === "eq") === value ? column : `(not ${column})`;
}

function testTags(column: Condition, { op, value }: Comparison, values: Values): Condition {
  if (value === null) return op === "neq" ? `notEmpty(${column})` : `empty(${column})`;
  if (op === "like" || op === "nlike") {
    const found = `arrayExists(tag -> tag like ${values.bind(likePattern(String(value)), "String")}, ${column})`;
    return op === "like" ? found : negate(found);
  }
  const tags = (Array.isArray(value) ? value : [value]) as string[];
  const found = `hasAny(${column}, ${values.bind(tags, "Array(String)")})`;
  if (op === "neq") return negate(found);
  return all([`hasAny(terms, ${values.bind(tags.map(tagTerm), "Array(Int32)")})`, found]);
}

function testJson(column: Condition, test: Comparison, values: Values): Condition {
  const { op, field, value } = test;
  if (value === null) {
    // A client's explicit null is no more there than what was never sent.
    const absent = `(${column} is null or ${column} in ('null', '{}'))`;
    return op === "neq" ? negate(absent) : absent;
  }
  const document = field === "metadata" ? column : `ifNull(${column}, '')`;
  if (op === "exists") return hasPath(document, String(value), values);
  if (op === "has") {
    const wanted: unknown = JSON.parse(String(value));
    return all([...narrowing(field, wanted, values), containsJson(document, wanted, values)]);
  }
  return testText(column, test, values);
}

/** The leaves of what must be contained are pairs of the payload, and those are indexed. */
function narrowing(field: FieldName, wanted: unknown, values: Values): Condition[] {
  const pairs = pairsOf(wanted);
  if (pairs.length === 0) return [];
  const terms = pairs.map(([key, value]) => pairTerm(field as "metadata" | "inputs" | "outputs", key, value));
  return [`hasAll(terms, ${values.bind(terms, "Array(Int32)")})`];
}
