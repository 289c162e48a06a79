import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { Comparison, Search } from "./filter.ts";

export type Condition = RawBuilder<unknown>;

export const always: Condition = raw`true`;
export const never: Condition = raw`false`;

export function all(conditions: readonly Condition[]): Condition {
  return joined(conditions, raw` and `) ?? always;
}

export function any(conditions: readonly Condition[]): Condition {
  return joined(conditions, raw` or `) ?? never;
}

function joined(conditions: readonly Condition[], separator: Condition): Condition | undefined {
  if (conditions.length < 2) return conditions[0];
  return raw`(${raw.join([...conditions], separator)})`;
}

/** What is unknown counts as false, so its negation is true: plain `not` would leave it unknown. */
export function negate(condition: Condition): Condition {
  return raw`((${condition}) is not true)`;
}

/** Every token somewhere in the text. */
export function holdsTokens(text: Condition, tokens: readonly string[]): Condition {
  return all(tokens.map((token) => holdsToken(text, token)));
}

/** For plain letters the C collation folds case as well and takes half the time. */
export function holdsToken(text: Condition, token: string): Condition {
  const pattern = `%${token.replace(/[\\%_]/g, "\\$&")}%`;
  return /^[ -~]*$/.test(token) ? raw`${text} collate "C" ilike ${pattern}` : raw`${text} ilike ${pattern}`;
}

/** The same in JSON text, where the token may stand in its escaped form. */
export function jsonHoldsToken(text: Condition, token: string): Condition {
  const escaped = JSON.stringify(token).slice(1, -1);
  const ascii = escaped.replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return any([...new Set([escaped, ascii])].map((form) => holdsToken(text, form)));
}

/** A text test on a SQL expression of type text; null tests included. */
export function testText(text: Condition, test: Comparison | Search): Condition {
  if (test.kind === "search") return holdsTokens(text, test.tokens);
  const { op, value } = test;
  if (value === null) return op === "neq" ? raw`${text} is not null` : raw`${text} is null`;
  switch (op) {
    case "eq":
      return raw`${text} = ${value}`;
    case "neq":
      return raw`${text} is distinct from ${value}`;
    case "in":
      return raw`${text} = any(${value}::text[])`;
    case "like":
      return raw`${text} like ${value}`;
    case "nlike":
      return negate(raw`${text} like ${value}`);
    default:
      throw new Error(`The operator ${op} does not test text.`);
  }
}

const orderings = { gt: raw`>`, gte: raw`>=`, lt: raw`<`, lte: raw`<=` };

/** A test on anything with an order; `type` is the SQL type the values are read as. */
export function testOrdered(expression: Condition, test: Comparison, type: Condition): Condition {
  const { op, value } = test;
  if (value === null) return op === "neq" ? raw`${expression} is not null` : raw`${expression} is null`;
  switch (op) {
    case "eq":
      return raw`${expression} = ${value}::${type}`;
    case "neq":
      return raw`${expression} is distinct from ${value}::${type}`;
    case "in":
      return raw`${expression} = any(${value}::${type}[])`;
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return raw`${expression} ${orderings[op]} ${value}::${type}`;
    default:
      throw new Error(`The operator ${op} does not compare by order.`);
  }
}
