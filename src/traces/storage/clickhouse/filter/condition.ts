import type { Comparison, Search } from "../../../filter/filter.ts";

/** ClickHouse SQL. Everything a caller wrote is in `Values`; the text has names of columns and operators alone. */
export type Condition = string;

/** The values a statement binds, each under a name of its own. */
export class Values {
  readonly params: Record<string, unknown> = {};
  #count = 0;

  /** The placeholder of a value, of a ClickHouse type. */
  bind(value: unknown, type: string): Condition {
    const name = `v${this.#count++}`;
    this.params[name] = value;
    return `{${name}: ${type}}`;
  }
}

export const always: Condition = "true";
export const never: Condition = "false";

export function all(conditions: readonly Condition[]): Condition {
  return conditions.length < 2 ? (conditions[0] ?? always) : `(${conditions.join(" and ")})`;
}

export function any(conditions: readonly Condition[]): Condition {
  return conditions.length < 2 ? (conditions[0] ?? never) : `(${conditions.join(" or ")})`;
}

/** What is unknown counts as false, so its negation is true: plain `not` would leave it unknown. */
export function negate(condition: Condition): Condition {
  return `(not ifNull(${condition}, false))`;
}

/** PostgreSQL's pattern for ClickHouse: there a backslash before another letter stands for that letter, here for itself. */
export function likePattern(pattern: string): string {
  return pattern.replace(/\\(.)/gsu, (_, letter: string) => literal(letter));
}

const literal = (text: string) => text.replace(/[\\%_]/g, "\\$&");

/** Every token somewhere in the text, in any letter case. The index has the text in lower case. */
export function holdsTokens(text: Condition, tokens: readonly string[], values: Values): Condition {
  return all(tokens.map((token) => holdsToken(text, token, values)));
}

function holdsToken(text: Condition, token: string, values: Values): Condition {
  return `lowerUTF8(${text}) like lowerUTF8(${values.bind(`%${literal(token)}%`, "String")})`;
}

/** The same in JSON text, where the token may stand in its escaped form. */
export function jsonHoldsToken(text: Condition, token: string, values: Values): Condition {
  const escaped = JSON.stringify(token).slice(1, -1);
  const ascii = escaped.replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return any([...new Set([escaped, ascii])].map((form) => holdsToken(text, form, values)));
}

/** A test on text that may be null; null tests included. */
export function testText(text: Condition, test: Comparison | Search, values: Values): Condition {
  if (test.kind === "search") return holdsTokens(text, test.tokens, values);
  const { op, value } = test;
  if (value === null) return op === "neq" ? `(${text} is not null)` : `(${text} is null)`;
  switch (op) {
    case "eq":
      return `(${text} = ${values.bind(String(value), "String")})`;
    case "neq":
      return negate(`${text} = ${values.bind(String(value), "String")}`);
    case "in":
      return `has(${values.bind((value as unknown[]).map(String), "Array(String)")}, ${text})`;
    case "like":
      return `(${text} like ${values.bind(likePattern(String(value)), "String")})`;
    case "nlike":
      return negate(`${text} like ${values.bind(likePattern(String(value)), "String")}`);
    default:
      throw new Error(`The operator ${op} does not test text.`);
  }
}

const orderings: Partial<Record<string, string>> = { eq: "=", gt: ">", gte: ">=", lt: "<", lte: "<=" };

/** A test on anything with an order; `bind` gives one of the filter's values as a value of the column's type. */
export function testOrdered(
  expression: Condition,
  { op, value }: Comparison,
  bind: (value: unknown) => Condition,
): Condition {
  if (value === null) return op === "neq" ? `(${expression} is not null)` : `(${expression} is null)`;
  if (op === "in") return any((value as unknown[]).map((each) => `${expression} = ${bind(each)}`));
  if (op === "neq") return negate(`${expression} = ${bind(value)}`);
  const sign = orderings[op];
  if (sign === undefined) throw new Error(`The operator ${op} does not compare by order.`);
  return `(${expression} ${sign} ${bind(value)})`;
}
