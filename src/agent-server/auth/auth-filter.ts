import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";

/**
 * What an authorization handler returns to narrow the rows a request may touch:
 * `{ owner: "ada" }`, `{ owner: { $eq: "ada" } }`, `{ teams: { $contains: "red" } }`, and `$or` / `$and` of such.
 */
export type AuthFilter = Record<string, unknown>;

type Scalar = string | number | boolean | null;

/** The jsonb value that holds a field of a row under its name. */
export type FieldHolder = (key: string) => RawBuilder<unknown>;

/**
 * The filter as a condition on a jsonb column, or on another expression with fields. An empty filter restricts nothing.
 */
export function metadataCondition(
  filter: AuthFilter | undefined,
  holder: string | FieldHolder = "metadata",
): RawBuilder<unknown> | undefined {
  if (!filter) return undefined;
  const column: FieldHolder = typeof holder === "string" ? () => raw.ref(holder) : holder;
  const parts = Object.entries(filter).map(([key, wanted]) => keyCondition(key, wanted, column));
  return parts.length === 0 ? undefined : joined(parts, "and");
}

function keyCondition(key: string, wanted: unknown, column: FieldHolder): RawBuilder<unknown> {
  if (key === "$or" || key === "$and") {
    if (!Array.isArray(wanted) || wanted.length === 0) throw unusable(key, "needs a list of filters");
    const parts = wanted.map((part) => {
      if (!isPlain(part)) throw unusable(key, "needs a list of filters");
      return metadataCondition(part, column) ?? raw`true`;
    });
    return joined(parts, key === "$or" ? "or" : "and");
  }
  if (isScalar(wanted)) return equals(key, wanted, column);
  if (!isPlain(wanted)) throw unusable(key, "must be text, a number, true, false, null or an operator");
  const operators = Object.entries(wanted);
  if (operators.length === 0) throw unusable(key, "names no operator");
  return joined(
    operators.map(([operator, value]) => operatorCondition(key, operator, value, column)),
    "and",
  );
}

function operatorCondition(
  key: string,
  operator: string,
  value: unknown,
  column: FieldHolder,
): RawBuilder<unknown> {
  if (operator === "$eq" && isScalar(value)) return equals(key, value, column);
  if (operator === "$contains") {
    const list = Array.isArray(value) ? value : [value];
    if (!list.every(isScalar)) throw unusable(key, "$contains needs a value or a list of values");
    const at = column(key);
    return raw`(jsonb_typeof(${at} -> ${key}::text) = 'array' and ${at} -> ${key}::text @> ${JSON.stringify(list)}::jsonb)`;
  }
  throw unusable(key, `has the operator ${operator}; $eq and $contains are known`);
}

/** Containment alone lets the index find the row; equality alone is exact. */
function equals(key: string, value: Scalar, column: FieldHolder): RawBuilder<unknown> {
  const at = column(key);
  return raw`(${at} @> ${JSON.stringify({ [key]: value })}::jsonb and ${at} -> ${key}::text = ${JSON.stringify(value)}::jsonb)`;
}

function joined(parts: RawBuilder<unknown>[], word: "and" | "or"): RawBuilder<unknown> {
  return raw`(${raw.join(parts, raw.raw(` ${word} `))})`;
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

export function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A filter that cannot be interpreted must not allow anything. */
function unusable(key: string, problem: string): AppError {
  return new AppError({
    code: "auth.filter_unusable",
    kind: "internal",
    message: `The project's authorization returned a filter that cannot be used: "${key}" ${problem}.`,
  });
}
