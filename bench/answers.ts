import { formatTable, median } from "./load.ts";

/** A figure that could not be measured is undefined. */
export type Measured = Readonly<Record<string, number | undefined>>;

/** Figures of several rounds and subjects, as one table: a row for each question, a column for each subject. */
export class Answers {
  readonly #columns: readonly string[];
  readonly #figures = new Map<string, Map<string, number[]>>();
  readonly #notes: string[] = [];

  constructor(columns: readonly string[]) {
    this.#columns = columns;
  }

  add(column: string, measured: Measured): void {
    for (const [question, figure] of Object.entries(measured)) {
      const row = this.#figures.get(question) ?? new Map<string, number[]>();
      this.#figures.set(question, row);
      if (figure === undefined) continue;
      row.set(column, [...(row.get(column) ?? []), figure]);
    }
  }

  /** What a reader of the table has to know, such as what was left out and why. */
  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  toMarkdown(): string {
    const rows = [...this.#figures].map(([question, row]) => ({
      question,
      ...Object.fromEntries(this.#columns.map((column) => [column, cell(row.get(column) ?? [])])),
    }));
    const notes = this.#notes.map((note) => `- ${note}`);
    return [formatTable(rows), ...(notes.length > 0 ? ["", ...notes] : [])].join("\n");
  }
}

/** The median, and the least and the most if there are several. */
export function cell(figures: readonly number[]): string {
  if (figures.length === 0) return "";
  const middle = rounded(median(figures));
  const [least, most] = [rounded(Math.min(...figures)), rounded(Math.max(...figures))];
  return least === most ? middle : `${middle} (${least}–${most})`;
}

function rounded(value: number): string {
  if (Number.isInteger(value) || value >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(value < 10 ? 2 : 1);
}
