import { type Filter, fieldOf, type Search } from "../../../filter/filter.ts";
import { searchAnywhere, searchField } from "../filter/compile-field.ts";
import type { Condition, Values } from "../filter/condition.ts";

/**
 * A word that one row at least of every run has that a filter finds; undefined where it searches for none. The row that last wrote a text
 * has that text, but two words may be in two rows, and all else a filter asks may be in others: so one word alone is asked for, the longest.
 */
export function wordOfRows(filter: Filter, values: Values): Condition | undefined {
  const parts = filter.kind === "and" ? filter.parts : [filter];
  const [word] = parts.flatMap(wordsOf).sort((a, b) => b.token.length - a.token.length);
  if (!word) return undefined;
  return word.field === null
    ? searchAnywhere([word.token], values)
    : searchField(word.field, [word.token], values);
}

/** Those of an entry belong to its other parts. */
function wordsOf(part: Filter): { field: Search["field"]; token: string }[] {
  if (part.kind !== "search" || (part.field !== null && fieldOf(part.field).pair)) return [];
  return part.tokens.map((token) => ({ field: part.field, token }));
}
