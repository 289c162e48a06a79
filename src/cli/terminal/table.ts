import type { Output, Style } from "./output.ts";
import { fitText, padText, plainLine, widthOf } from "./text.ts";

export type Cell = string | { text: string; style: Style };
export type Column = {
  head: string;
  /** Gives way first where the terminal is narrow; others keep their full width. */
  flexible?: boolean;
};

const gap = 2;
const narrowest = 6;

/** Aligned columns that fit the terminal; a pipe gets every text whole. */
export function printTable(
  output: Output,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): void {
  const texts = rows.map((row) => row.map((cell) => plainLine(typeof cell === "string" ? cell : cell.text)));
  const natural = columns.map((column, index) =>
    Math.max(widthOf(column.head), ...texts.map((row) => widthOf(row[index] ?? ""))),
  );
  const widths = fitColumns(natural, columns, output.width);
  const lineOf = (cells: readonly string[], paint: (text: string, index: number) => string) =>
    cells
      .map((text, index) => {
        const fitted = fitText(text, widths[index] ?? 0);
        const padded =
          index === cells.length - 1 ? "" : padText(fitted, widths[index] ?? 0).slice(fitted.length);
        return paint(fitted, index) + padded;
      })
      .join(" ".repeat(gap))
      .trimEnd();
  output.line(
    lineOf(
      columns.map(({ head }) => head),
      (text) => output.paint("dim", text),
    ),
  );
  texts.forEach((row, place) => {
    const cells = rows[place] ?? [];
    output.line(
      lineOf(row, (text, index) => {
        const cell = cells[index];
        return cell === undefined || typeof cell === "string" ? text : output.paint(cell.style, text);
      }),
    );
  });
}

export function fitColumns(natural: readonly number[], columns: readonly Column[], width: number): number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, each) => sum + each, 0) + gap * (widths.length - 1) - width;
  while (over > 0) {
    // The widest flexible column loses a little, again and again, so that they end about alike.
    const candidates = widths
      .map((each, index) => ({ each, index }))
      .filter(({ each, index }) => columns[index]?.flexible === true && each > narrowest)
      .toSorted((a, b) => b.each - a.each);
    const widest = candidates[0];
    if (widest === undefined) break;
    widths[widest.index] = widest.each - 1;
    over -= 1;
  }
  return widths;
}

/** Label and value, one per line. */
export function printFields(
  output: Output,
  fields: readonly (readonly [string, Cell | null | undefined])[],
): void {
  const given = fields.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(...given.map(([label]) => widthOf(label))) + gap;
  for (const [label, value] of given) {
    const cell = value as Cell;
    const whole = plainLine(typeof cell === "string" ? cell : cell.text);
    const fitted = fitText(whole, Math.max(narrowest, output.width - width));
    const text = typeof cell === "string" ? fitted : output.paint(cell.style, fitted);
    output.line(`${output.paint("dim", padText(label, width))}${text}`);
  }
}

export function statusStyle(status: string): Style {
  if (/FAILED|ERROR|TIMEDOUT|dead|error|timeout/.test(status)) return "red";
  if (/^(DEPLOYED|READY|COMPLETED|success|active)$/.test(status)) return "green";
  if (/SKIPPED|INTERRUPTED|CANCELLED|UNKNOWN|UNUSED|interrupted|replaced/.test(status)) return "dim";
  return "yellow";
}
