import { quoteFormula } from "./csv-formula.ts";
import type { Example } from "./dataset.ts";

/** A line of JSON Lines: what another dataset can be made of. */
export function toJsonLine({ id, inputs, outputs, metadata }: Example): string {
  const rest = JSON.stringify({ metadata: metadata ?? {} });
  return `{"id":${JSON.stringify(id)},"inputs":${inputs},"outputs":${outputs ?? "null"},${rest.slice(1)}\n`;
}

type Side = "inputs" | "outputs";
/** Columns by the side they are of, in the order they are first seen. */
export type ExportColumns = Record<Side, Set<string>>;
/** What a side that is no object stands under. */
const whole = "";

export function addColumns(columns: ExportColumns, example: Example): void {
  for (const side of ["inputs", "outputs"] as const)
    for (const key of Object.keys(sideOf(example, side))) columns[side].add(key);
}

export function toCsvHeader(columns: ExportColumns): string {
  return csvLine(["id", ...names(columns, "inputs"), ...names(columns, "outputs")]);
}

/** Texts as they are but for what a spreadsheet would run, everything else as JSON. */
export function toCsvLine(example: Example, columns: ExportColumns): string {
  const cells = (["inputs", "outputs"] as const).flatMap((side) => {
    const values = sideOf(example, side);
    return [...columns[side]].map((key) => (Object.hasOwn(values, key) ? cellOf(values[key]) : ""));
  });
  return csvLine([example.id, ...cells]);
}

function names(columns: ExportColumns, side: Side): string[] {
  return [...columns[side]].map((key) => (key === whole ? side : `${side}.${key}`));
}

function sideOf(example: Example, side: Side): Record<string, unknown> {
  const text = example[side];
  if (text === null) return {};
  const value = JSON.parse(text) as unknown;
  if (value === null) return {};
  return typeof value === "object" && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : { [whole]: value };
}

const cellOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function csvLine(cells: readonly string[]): string {
  const written = cells
    .map(quoteFormula)
    .map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${written.join(",")}\r\n`;
}
