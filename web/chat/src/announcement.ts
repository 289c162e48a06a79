import type { Turn } from "./turns.ts";

const maxLength = 600;

export type Told = {
  /** A run was under way, and its answer has not been told. */
  due: boolean;
  /** The turn that was last when something was told. */
  lastId: string | undefined;
};

/** What was there when the page was opened has been told, or is read at will; more of what was told is told again. */
export function isToBeTold({ due, lastId }: Told, turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  return due || (last !== undefined && last.id === lastId);
}

/** The words of an answer may come long after the end of its run is known: until then they are due. */
export function afterTelling(turns: readonly Turn[]): Told {
  const last = turns.at(-1);
  return { due: last?.kind !== "assistant", lastId: last?.id };
}

export function answerToTell(turns: readonly Turn[]): string {
  const turn = turns.at(-1);
  if (turn?.kind !== "assistant") return "The answer ended.";
  const said = turn.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ");
  return `The assistant answered: ${said.replace(/[*_`#>]/g, "").slice(0, maxLength)}`;
}
