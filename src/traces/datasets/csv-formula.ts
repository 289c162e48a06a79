/**
 * Spreadsheets run a cell that begins so as a formula, also one from a file that somebody else filled. A quote before it makes it a
 * text there. Plain numbers stay as they are: nothing runs, and a column of them stays one of numbers.
 */
const formula = /^'*[=+\-@\t\r]/;
const quoted = /^'+[=+\-@\t\r]/;
const plainNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

export function quoteFormula(cell: string): string {
  return formula.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell;
}

/** What `quoteFormula` was given. */
export function unquoteFormula(cell: string): string {
  return quoted.test(cell) ? cell.slice(1) : cell;
}

/** Whether a table is one of our own: quotes in the cells of others are part of what they say. */
export function isOwnTable([first, ...rest]: readonly string[]): boolean {
  return first === "id" && rest.length > 0 && rest.every((name) => /^(inputs|outputs)(\.|$)/.test(name));
}
