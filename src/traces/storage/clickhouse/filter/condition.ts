import type { Comparison, Search } from "../../../filter/filter.ts";

/** ClickHouse SQL. Everything a caller wrote is in `Values`; the text has names of columns and operators alone. */
export type Condition = string;

/** A server takes parameters of up to 128 KiB, and a letter takes up to three bytes. */
const maxParameterChars = 40_000;

/** The values a statement binds, each under a name of its own, and a long one under several. */
export class Values {
  readonly params: Record<string, unknown> = {};
  #count = 0;

  /** The placeholder of a value, of a ClickHouse type. */
  bind(value: unknown, type: string): Condition {
    if (Array.isArray(value)) return this.#bindList(value, type);
    if (typeof value !== "string" || value.length <= maxParameterChars) return this.#bindPiece(value, type);
    // By letters, not by halves of them.
    const letters = Array.from(value);
    const pieces: string[] = [];
    for (let at = 0; at < letters.length; at += maxParameterChars / 2)
      pieces.push(letters.slice(at, at + maxParameterChars / 2).join(""));
    return `concat(${pieces.map((piece) => this.#bindPiece(piece, type)).join(", ")})`;
  }

  #bindList(items: readonly unknown[], type: string): Condition {
    const lists: unknown[][] = [[]];
    let chars = 0;
    for (const item of items) {
      const more = String(item).length + "'',".length;
      const isFull = chars + more > maxParameterChars && chars > 0;
      if (isFull) lists.push([]);
      chars = isFull ? more : chars + more;
      lists.at(-1)!.push(item);
    }
    const bound = lists.map((list) => {
      const [only] = list;
      const isLong = list.length === 1 && typeof only === "string" && only.length > maxParameterChars;
      return isLong ? `[${this.bind(only, itemType(type))}]` : this.#bindPiece(list, type);
    });
    return bound.length === 1 ? bound[0]! : `arrayConcat(${bound.join(", ")})`;
  }

  #bindPiece(value: unknown, type: string): Condition {
    const name = `v${this.#count++}`;
    this.params[name] = value;
    return `{${name}: ${type}}`;
  }
}

/** What a filter is compiled for. */
export type Scope = {
  values: Values;
  /** The workspace's id, bound. */
  workspace: Condition;
  /** What the condition has named so far: an expression that is long is written once. */
  named: Set<string>;
};

const itemType = (type: string) => type.slice("Array(".length, -1);

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

/** How a filter's values are given to the server: of which type, and what makes one of the column's type of it. */
export type Binding = { values: Values; type: string; cast?: (value: Condition) => Condition };

/** A test on anything with an order. */
export function testOrdered(
  expression: Condition,
  { op, value }: Comparison,
  { values, type, cast }: Binding,
): Condition {
  if (value === null) return op === "neq" ? `(${expression} is not null)` : `(${expression} is null)`;
  if (op === "in") {
    const list = values.bind(value, `Array(${type})`);
    return `(${expression} in ${cast ? `arrayMap(each -> ${cast("each")}, ${list})` : list})`;
  }
  const bound = values.bind(value, type);
  const wanted = cast ? cast(bound) : bound;
  if (op === "neq") return negate(`${expression} = ${wanted}`);
  const sign = orderings[op];
  if (sign === undefined) throw new Error(`The operator ${op} does not compare by order.`);
  return `(${expression} ${sign} ${wanted})`;
}
