/**
 * Rows of a CSV file (RFC 4180): commas, quotes doubled inside quotes, lines that end with LF, CRLF or CR. A mark of the byte order
 * before it and empty lines are left out. Null when a quote is never closed.
 */
export function parseCsv(text: string): string[][] | null {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = "";
  let wasQuoted = false;
  let position = text.startsWith("\ufeff") ? 1 : 0;
  const endField = () => {
    row.push(field);
    field = "";
    wasQuoted = false;
  };
  const endRow = () => {
    const isEmpty = row.length === 0 && field === "" && !wasQuoted;
    endField();
    if (!isEmpty) rows.push(row);
    row = [];
  };
  while (position < text.length) {
    const char = text[position]!;
    if (char === '"' && field === "" && !wasQuoted) {
      const end = closingQuote(text, position + 1);
      if (end === -1) return null;
      field = text.slice(position + 1, end).replaceAll('""', '"');
      wasQuoted = true;
      position = end + 1;
      continue;
    }
    if (char === ",") endField();
    else if (char === "\n" || char === "\r") {
      endRow();
      if (char === "\r" && text[position + 1] === "\n") position += 1;
    } else field += char;
    position += 1;
  }
  if (row.length > 0 || field !== "" || wasQuoted) endRow();
  return rows;
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}
