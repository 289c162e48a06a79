import type { Revision } from "./deployment-api.ts";

export type Failure = NonNullable<Revision["failure"]>;

/** `src/agent.ts:15:21`; null where no file of the project is to blame. */
export function placeOf({ file, line, column }: Pick<Failure, "file" | "line" | "column">): string | null {
  if (file === null) return null;
  if (line === null) return file;
  return column === null ? `${file}:${line}` : `${file}:${line}:${column}`;
}

/** Whether the tool printed more than what stands above it. */
export function hasMore({ reason, output }: Pick<Failure, "reason" | "output">): boolean {
  return output.length > 1 || (output.length === 1 && !output[0]!.includes(reason));
}
