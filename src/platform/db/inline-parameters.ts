import pg from "pg";
import type { Sql } from "./database.ts";
import type { RawBuilder } from "./raw.ts";

/**
 * A statement with its parameters written into it as literals, for commands that take none (COPY). Every value is
 * written as a quoted text of unknown type, which is what a bound parameter is too, so both mean the same.
 */
export function inlineParameters(sql: Sql, statement: RawBuilder<unknown>): string {
  const compiled = statement.compile(sql);
  return compiled.sql.replace(placeholderOrQuoted, (found, number: string | undefined) => {
    if (number === undefined) return found;
    return literal(compiled.parameters[Number(number) - 1]);
  });
}

// Quoted texts and names are passed over: a dollar sign in them is no placeholder.
const placeholderOrQuoted = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\d+)/g;

function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return pg.escapeLiteral(textOf(value));
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return arrayText(value);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

function arrayText(items: readonly unknown[]): string {
  const parts = items.map((item) => {
    if (item === null || item === undefined) return "NULL";
    if (Array.isArray(item)) return arrayText(item);
    return `"${textOf(item).replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${parts.join(",")}}`;
}
