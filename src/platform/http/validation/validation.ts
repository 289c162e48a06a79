import type { z } from "zod";
import { AppError, type ValidationIssue } from "../../errors.ts";
import { issueWords } from "./validation-words.ts";

export type Place = "path" | "query" | "body";

/** A message written in the schema wins over ours: zod asks this map only when there is none. */
const parseOptions: z.core.ParseContext<z.core.$ZodIssue> = {
  reportInput: true,
  error: (issue) => issueWords(issue).msg,
};

/** Checks and converts, or throws the 422. Schemas are synchronous: a look-up belongs in a service. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: Place,
): z.output<Schema> {
  const result = schema.safeParse(value, parseOptions);
  if (result.success) return result.data;
  throw unprocessable(toValidationIssues(result.error.issues, [place]));
}

export function unprocessable(issues: ValidationIssue[]): AppError {
  const [first] = issues;
  return new AppError({
    code: "request.invalid",
    kind: "unprocessable",
    message: first ? `${first.loc.join(".")}: ${first.msg}` : "The request is not valid.",
    issues,
  });
}

export function toValidationIssues(
  issues: readonly z.core.$ZodIssue[],
  prefix: (string | number)[],
): ValidationIssue[] {
  return issues.flatMap((issue) => {
    const loc = [...prefix, ...issue.path.map((key) => (typeof key === "number" ? key : String(key)))];
    const { type, ctx } = issueWords(issue);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({ loc: [...loc, key], msg: issue.message, type }));
    }
    if (issue.code === "invalid_union" && type === "value_error") {
      const branch = closestBranch(issue.errors);
      if (branch) return toValidationIssues(branch, loc);
      return [{ loc, msg: unionMessage(issue), type, ...echoed(issue.input) }];
    }
    return [{ loc, msg: issue.message, type, ...echoed(issue.input), ...(ctx ? { ctx } : {}) }];
  });
}

/** The form the caller most likely meant: the one whose own type fits and which has the fewest faults. */
function closestBranch(branches: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const plausible = branches.filter(
    (issues) => !issues.some((issue) => issue.path.length === 0 && issue.code === "invalid_type"),
  );
  return plausible.toSorted((a, b) => a.length - b.length)[0];
}

function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const expected = new Set(
    issue.errors.flat().flatMap((inner) => (inner.code === "invalid_type" ? [inner.expected] : [])),
  );
  return expected.size > 1 ? `Input should be one of: ${[...expected].join(", ")}` : issue.message;
}

function echoed(input: unknown): { input?: unknown } {
  return input === undefined || Number.isNaN(input) ? {} : { input };
}

const secretName =
  /secret|passw|token|credential|authorization|cookie|signature|private|api[-_]?key|access[-_]?key|^key$|[-_]key$|^value$/i;
const maxEchoedText = 200;

/**
 * What the caller gets to see of an issue. Only short plain values are echoed: an object may hold a secret
 * anywhere, and a name such as `secrets` or `password` on the way hides the value altogether.
 */
export function publicIssue(issue: ValidationIssue): ValidationIssue {
  const { input, ...rest } = issue;
  if (input === undefined || !isEchoable(issue.loc, input)) return rest;
  if (typeof input === "string" && input.length > maxEchoedText) {
    return { ...rest, input: `${input.slice(0, maxEchoedText)}…` };
  }
  return { ...rest, input };
}

function isEchoable(loc: (string | number)[], input: unknown): boolean {
  if (typeof input === "object" && input !== null) return false;
  if (typeof input === "bigint" || typeof input === "symbol" || typeof input === "function") return false;
  if (typeof input === "string" && /:\/\/[^/\s]*@/.test(input)) return false;
  return !loc.some((key) => typeof key === "string" && !/_id$/.test(key) && secretName.test(key));
}
