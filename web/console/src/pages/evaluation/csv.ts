export type CsvRow = { cells: string[]; line: number };
export type CsvFault = { line: number; message: string };

/** Rows of a CSV file (RFC 4180) with the line each begins on. Empty lines are left out. */
export function parseCsv(text: string): { rows: CsvRow[] } | { fault: CsvFault } {
  const rows: CsvRow[] = [];
  let position = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  while (position < text.length) {
    const row: CsvRow = { cells: [], line };
    for (;;) {
      const cell = readCell(text, position);
      if (!cell) return { fault: { line, message: "a quote is opened here and never closed" } };
      row.cells.push(cell.value);
      for (let at = position; at < cell.end; at++) if (text[at] === "\n") line += 1;
      position = cell.end;
      if (text[position] !== ",") break;
      position += 1;
    }
    if (position < text.length && text[position] !== "\n" && text[position] !== "\r")
      return { fault: { line, message: "there is more after the quote that closes a field" } };
    if (text[position] === "\r" && text[position + 1] === "\n") position += 1;
    position += 1;
    line += 1;
    if (row.cells.length > 1 || row.cells[0] !== "") rows.push(row);
  }
  return { rows };
}

function readCell(text: string, from: number): { value: string; end: number } | null {
  if (text[from] !== '"') {
    let end = from;
    while (end < text.length && text[end] !== "," && text[end] !== "\n" && text[end] !== "\r") end += 1;
    return { value: text.slice(from, end), end };
  }
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return { value: text.slice(from + 1, at).replaceAll('""', '"'), end: at + 1 };
  }
  return null;
}

/** A table that was exported here. Its cells have a quote before what a spreadsheet would run as a formula. */
export function isOwnTable([first, ...rest]: readonly string[]): boolean {
  return first === "id" && rest.length > 0 && rest.every((name) => /^(inputs|outputs)(\.|$)/.test(name));
}

export function unquoteFormula(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell;
}
