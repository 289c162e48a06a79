import { styleText } from "node:util";

export type Style = Parameters<typeof styleText>[0];
export type OutputOptions = { json?: boolean; color?: boolean };

export type Output = {
  json: boolean;
  /** Columns of the terminal; a pipe has room for everything. */
  width: number;
  /** A person watches: stdout is a terminal. */
  watched: boolean;
  /** Colours text when the terminal shows colours, and leaves it alone otherwise. */
  paint(style: Style, text: string): string;
  line(text?: string): void;
  /** For what a person wants to see but a pipe does not: progress and warnings, on stderr. */
  note(text: string): void;
  /** The result for programs: one JSON document, only with `--json`. */
  data(value: unknown): void;
};

export function createOutput(
  options: OutputOptions,
  stdout: NodeJS.WriteStream = process.stdout,
  stderr: NodeJS.WriteStream = process.stderr,
): Output {
  const json = options.json === true;
  return {
    json,
    width: stdout.isTTY === true ? stdout.columns || 80 : Number.POSITIVE_INFINITY,
    watched: stdout.isTTY === true && !json,
    paint: createPaint(options, stdout),
    line: (text = "") => {
      if (!json) stdout.write(`${text}\n`);
    },
    note: (text) => {
      stderr.write(`${text}\n`);
    },
    data: (value) => {
      if (json) stdout.write(`${JSON.stringify(value)}\n`);
    },
  };
}

export function createPaint(options: OutputOptions, stream: NodeJS.WriteStream): Output["paint"] {
  // hasColors() already answers for NO_COLOR, FORCE_COLOR and TERM=dumb.
  const colored =
    options.color !== false && options.json !== true && stream.isTTY === true && stream.hasColors();
  return (style, text) => (colored ? styleText(style, text, { validateStream: false }) : text);
}

/** Left-aligned columns; the last one is not padded. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** Prints what is being waited for, but only once the wait has become noticeable. */
export function announceWait(output: Output, text: string, afterMs = 1000): () => void {
  if (output.json) return () => {};
  const timer = setTimeout(() => output.note(text), afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
