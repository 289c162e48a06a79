import { AppError } from "../../platform/errors.ts";

export type Position = { offset: number; line: number; column: number };

/** Where the text came from; a filter may stand in several fields of a request. */
export type Location = (string | number)[];

/** What kind of fault it is, for clients that do more than show its words. */
export const faultReasons = [
  "ends_too_early",
  "unexpected_text",
  "unknown_operator",
  "unknown_field",
  "operator_does_not_apply",
  "value_not_valid",
  "too_large",
] as const;
export type FaultReason = (typeof faultReasons)[number];

/** The word that has no meaning there, and those that would have one. */
export type WrongWord = { found: string; choices: readonly string[] };

/** A fault at a place of the text; becomes the caller's 422 at the language's door. */
export class FilterFault extends Error {
  readonly offset: number;
  readonly reason: FaultReason;
  readonly expected: string | undefined;
  readonly word: WrongWord | undefined;

  constructor(
    offset: number,
    reason: FaultReason,
    message: string,
    expected?: string | WrongWord | undefined,
  ) {
    super(message);
    this.name = "FilterFault";
    this.offset = offset;
    this.reason = reason;
    this.word = typeof expected === "object" ? expected : undefined;
    this.expected = typeof expected === "object" ? `one of ${expected.choices.join(", ")}` : expected;
  }
}

/** A fault as data, for programs that read the 422. */
export type FaultContext = Position &
  Partial<WrongWord> & {
    reason: FaultReason;
    /** The words without what was expected and without the place. */
    problem: string;
    expected?: string;
  };

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
  const ctx: FaultContext = {
    ...position,
    reason: fault.reason,
    problem: fault.message,
    ...(fault.expected === undefined ? {} : { expected: fault.expected }),
    ...fault.word,
  };
  return new AppError({
    code: "filter.invalid",
    kind: "unprocessable",
    message: msg,
    issues: [{ loc, msg, type: "filter_invalid", ctx }],
  });
}
