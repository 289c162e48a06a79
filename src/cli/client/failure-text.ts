import { plainText } from "../terminal/text.ts";
import type { Revision } from "./answers.ts";

type Failed = Pick<Revision, "failure">;

/** `src/agent.ts:15:21: Unexpected "="`, then what the project's own tool printed; null where that is not known. */
export function failureText({ failure }: Failed): string | null {
  if (!failure) return null;
  const { file, line, column } = failure;
  const place = [file, ...(line ? [line] : []), ...(line && column ? [column] : [])]
    .filter(Boolean)
    .join(":");
  const reason = plainText(failure.reason);
  const first = place === "" ? reason : `${plainText(place)}: ${reason}`;
  const output = failure.output.map(plainText);
  // A single line says it already.
  const untold = output.length === 1 && output[0]!.includes(reason) ? [] : output;
  return [first, ...untold.map((text) => `  ${text}`)].join("\n");
}
