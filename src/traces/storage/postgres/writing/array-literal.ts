type Plain = string | number | boolean | null;

/** A Postgres array of values that need no quotes: ids, numbers, times, booleans. */
export function arrayLiteral(values: readonly Plain[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ",";
    text += values[index] ?? "NULL";
  }
  return `${text}}`;
}

const special = /["\\]/g;

/** A Postgres array of any text. */
export function textArrayLiteral(values: readonly (string | null)[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? null;
    if (index > 0) text += ",";
    text += value === null ? "NULL" : `"${value.replace(special, "\\$&")}"`;
  }
  return `${text}}`;
}
