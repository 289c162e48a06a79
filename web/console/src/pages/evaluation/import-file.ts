import { isOwnTable, parseCsv, unquoteFormula } from "./csv.ts";
import { isObject } from "./json-object.ts";

export const maxImportBytes = 10_000_000;
/** As many as one request takes: all of a file is added, or nothing. */
export const maxImportRows = 10_000;

export type ImportedExample = {
  inputs: Record<string, unknown>;
  outputs?: Record<string, unknown> | null;
  metadata?: Record<string, unknown>;
};
export type ColumnUse = "inputs" | "outputs" | "metadata" | "none";

/** `whole`: each line is an example. `columns`: the user first says which column is what. */
export type ReadFile =
  | { kind: "whole"; examples: ImportedExample[] }
  | { kind: "columns"; columns: string[]; rows: Record<string, unknown>[] }
  | { kind: "fault"; message: string };

const fault = (message: string): ReadFile => ({ kind: "fault", message });

export function readImport(name: string, text: string): ReadFile {
  const read = /\.csv$/i.test(name) ? readCsv(text) : readJsonLines(text);
  if (read.kind === "fault") return read;
  const count = read.kind === "whole" ? read.examples.length : read.rows.length;
  if (count === 0) return fault("The file has no examples in it.");
  if (count > maxImportRows) {
    const [has, most] = [count, maxImportRows].map((number) => number.toLocaleString("en-US"));
    return fault(`The file has ${has} rows; ${most} can be added at once. Split it into parts.`);
  }
  return read;
}

function readCsv(text: string): ReadFile {
  const parsed = parseCsv(text);
  if ("fault" in parsed) return fault(`Line ${parsed.fault.line}: ${parsed.fault.message}.`);
  const [header, ...rows] = parsed.rows;
  if (!header) return fault("The file is empty. Its first line names the columns.");
  const columns = header.cells;
  const unnamed = columns.findIndex((column) => column.trim() === "");
  if (unnamed !== -1) return fault(`Line ${header.line}: column ${unnamed + 1} has no name.`);
  const twice = columns.find((column, at) => columns.indexOf(column) !== at);
  if (twice !== undefined) return fault(`Line ${header.line}: two columns have the name “${twice}”.`);
  const odd = rows.find(({ cells }) => cells.length !== columns.length);
  if (odd)
    return fault(
      `Line ${odd.line} has ${odd.cells.length} fields, but the first line names ${columns.length} columns.`,
    );
  const read = isOwnTable(columns) ? unquoteFormula : (cell: string) => cell;
  return {
    kind: "columns",
    columns,
    rows: rows.map(({ cells }) =>
      Object.fromEntries(columns.map((column, at) => [column, read(cells[at]!)])),
    ),
  };
}

function readJsonLines(text: string): ReadFile {
  const rows: { line: number; value: Record<string, unknown> }[] = [];
  for (const [index, line] of text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === "") continue;
    const value = parsed(line);
    if (value === undefined) return fault(`Line ${index + 1} is not JSON: ${cut(line)}`);
    if (!isObject(value)) return fault(`Line ${index + 1} is not a JSON object: ${cut(line)}`);
    rows.push({ line: index + 1, value });
  }
  const isWhole = rows.some(({ value }) => "inputs" in value);
  if (!isWhole) {
    const columns = [...new Set(rows.flatMap(({ value }) => Object.keys(value)))];
    return { kind: "columns", columns, rows: rows.map(({ value }) => value) };
  }
  for (const { line, value } of rows) {
    if (!isObject(value.inputs)) return fault(`Line ${line}: “inputs” must be a JSON object.`);
    if (value.outputs != null && !isObject(value.outputs))
      return fault(`Line ${line}: “outputs” must be a JSON object, or left out.`);
    if (value.metadata != null && !isObject(value.metadata))
      return fault(`Line ${line}: “metadata” must be a JSON object, or left out.`);
  }
  return {
    kind: "whole",
    examples: rows.map(({ value: { inputs, outputs, metadata } }) => ({
      inputs: inputs as Record<string, unknown>,
      ...(outputs == null ? {} : { outputs: outputs as Record<string, unknown> }),
      ...(metadata == null ? {} : { metadata: metadata as Record<string, unknown> }),
    })),
  };
}

const answers = /^(outputs?|answers?|expected|reference|labels?|targets?)$/i;

/** What a column most likely is, by its name. Columns of an exported table say it themselves. */
export function guessUse(column: string): ColumnUse {
  if (column === "id") return "none";
  if (column.startsWith("outputs.") || answers.test(column)) return "outputs";
  return "inputs";
}

export function toExamples(
  rows: readonly Record<string, unknown>[],
  uses: Readonly<Record<string, ColumnUse>>,
): ImportedExample[] {
  const pick = (row: Record<string, unknown>, use: ColumnUse) =>
    Object.fromEntries(
      Object.entries(row)
        .filter(([column]) => uses[column] === use)
        .map(([column, value]) => [column.replace(/^(inputs|outputs)\./, ""), value]),
    );
  const has = (use: ColumnUse) => Object.values(uses).includes(use);
  return rows.map((row) => ({
    inputs: pick(row, "inputs"),
    ...(has("outputs") ? { outputs: pick(row, "outputs") } : {}),
    ...(has("metadata") ? { metadata: pick(row, "metadata") } : {}),
  }));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

const cut = (line: string) => (line.length > 60 ? `${line.slice(0, 60)}…` : line);
