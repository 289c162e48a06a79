/**
 * JSON text as PostgreSQL's jsonb spells it: a space after each colon and comma, short keys first, numbers without exponents.
 * Filters compare with the text of metadata, and must find the same in both engines.
 */
export function jsonbSpelling(text: string): string {
  return text === "{}" ? text : spell(JSON.parse(text));
}

function spell(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spell).join(", ")}]`;
  if (typeof value === "number") return plainNumber(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value)
    .map(([key, each]) => ({ bytes: Buffer.from(key), key, each }))
    .sort((one, other) => one.bytes.length - other.bytes.length || one.bytes.compare(other.bytes));
  return `{${pairs.map(({ key, each }) => `${JSON.stringify(key)}: ${spell(each)}`).join(", ")}}`;
}

function plainNumber(value: number): string {
  const text = String(value);
  const parts = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (!parts) return text;
  const [, sign, whole = "", fraction = "", exponent] = parts;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return point >= digits.length
    ? `${sign}${digits.padEnd(point, "0")}`
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
