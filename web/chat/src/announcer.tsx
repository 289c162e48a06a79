import { useEffect, useRef, useState } from "react";
import type { Turn } from "./turns.ts";

const maxLength = 600;
/** The end of a run may be known before its last words are. */
const settleMs = 300;

/** For screen readers: that an answer is coming, then the answer as a whole. Word by word would be noise. */
export function Announcer({ turns, busy, asking }: { turns: Turn[]; busy: boolean; asking: boolean }) {
  const [words, setWords] = useState("");
  const due = useRef(false);
  const told = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (busy || asking) {
      due.current = busy;
      setWords(busy ? "The assistant is answering." : "The run waits for your approval.");
      return;
    }
    const last = turns.at(-1)?.id;
    // What was there when the page was opened has been told, or is read at will.
    if (!due.current && (last === undefined || last !== told.current)) return;
    const timer = setTimeout(() => {
      due.current = false;
      told.current = last;
      setWords(lastAnswer(turns));
    }, settleMs);
    return () => clearTimeout(timer);
  }, [busy, asking, turns]);
  return (
    <div className="hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}

function lastAnswer(turns: Turn[]): string {
  const turn = turns.at(-1);
  if (turn?.kind !== "assistant") return "The answer ended.";
  const said = turn.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join(" ");
  return `The assistant answered: ${said.replace(/[*_`#>]/g, "").slice(0, maxLength)}`;
}
