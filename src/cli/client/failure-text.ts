import { plainText } from "../terminal/text.ts";
import type { Revision } from "./answers.ts";

type Failed = Pick<Revision, "failure">;

/**
 * `src/agent.ts:15:21: Unexpected "="`, then the rest of what the project's own tool printed; null where that is not known.
 * `isLogShown`: the reader has the log, and what the tool printed is not told again.
 */
export function failureText({ failure }: Failed, { isLogShown = false } = {}): string | null {
  if (!failure) return null;
  const { file, line, column } = failure;
  const place = [file, ...(line ? [line] : []), ...(line && column ? [column] : [])]
    .filter(Boolean)
    .join(":");
  const reason = plainText(failure.reason);
  const first = place === "" ? reason : `${plainText(place)}: ${reason}`;
  if (isLogShown) return first;
  const output = failure.output.map(plainText);
  // The line that says it is said already.
  const told = reason === "" ? -1 : output.findIndex((text) => text.includes(reason));
  const untold = output.filter((_, index) => index !== told);
  return [first, ...untold.map((text) => `  ${text}`)].join("\n");
}
