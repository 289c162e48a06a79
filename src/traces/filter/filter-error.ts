import { AppError } from "../../platform/errors.ts";

export type Position = { offset: number; line: number; column: number };

/** Where the text came from; a filter may stand in several fields of a request. */
export type Location = (string | number)[];

/** A fault at a place of the text; becomes the caller's 422 at the language's door. */
export class FilterFault extends Error {
  readonly offset: number;
  readonly expected: string | undefined;

  constructor(offset: number, message: string, expected?: string) {
    super(message);
    this.name = "FilterFault";
    this.offset = offset;
    this.expected = expected;
  }
}

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { offset, line: before.split("\n").length, column: offset - lineStart + 1 };
}

export function filterError(text: string, fault: FilterFault, loc: Location): AppError {
  const position = positionAt(text, fault.offset);
  const where = `line ${position.line}, column ${position.column}`;
  const expected = fault.expected === undefined ? "" : ` Expected ${fault.expected}.`;
  const msg = `${fault.message}${expected} (${where})`;
  return new AppError({
    code: "filter.invalid",
    kind: "unprocessable",
    message: msg,
    issues: [
      {
        loc,
        msg,
        type: "filter_invalid",
        ctx: { ...position, ...(fault.expected === undefined ? {} : { expected: fault.expected }) },
      },
    ],
  });
}
