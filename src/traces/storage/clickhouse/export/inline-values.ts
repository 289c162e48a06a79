import type { Values } from "../filter/condition.ts";

/**
 * The statement with its values written into it. What is sent beside a statement is limited in size, and an export's
 * statement may be long.
 */
export function inlineValues(statement: string, { params }: Values): string {
  return statement.replace(/\{(v\d+): ([A-Za-z0-9()]+)\}/g, (_, name: string, type: string) => {
    const value = params[name];
    const text = Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : literal(value);
    return type === "String" ? text : `cast(${text}, ${literal(type)})`;
  });
}

/** A text literal of ClickHouse, where only these three need another spelling. */
export function literal(value: unknown): string {
  return `'${String(value).replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\0", "\\0")}'`;
}
