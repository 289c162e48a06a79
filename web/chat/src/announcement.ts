import type { Turn } from "./turns.ts";

const maxLength = 600;

export type Announced = {
  /** A run was active, and its answer has not been announced. */
  due: boolean;
  /** The turn that was last at the last announcement. */
  lastId: string | undefined;
};

/** What was there when the page was opened counts as announced; a turn that has grown since is announced again. */
export function isAnnouncementDue({ due, lastId }: Announced, turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  return due || (last !== undefined && last.id === lastId);
}

/** The words of an answer may come long after the end of its run is known: until then they are due. */
export function afterAnnouncing(turns: readonly Turn[]): Announced {
  const last = turns.at(-1);
  return { due: last?.kind !== "assistant", lastId: last?.id };
}

export function announcementOf(turns: readonly Turn[]): string {
  const turn = turns.at(-1);
  if (turn?.kind !== "assistant") return "The answer ended.";
  const text = turn.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ");
  return `The assistant answered: ${text.replace(/[*_`#>]/g, "").slice(0, maxLength)}`;
}
