import { useEffect, useRef, useState } from "react";
import type { Turn } from "./turns.ts";

const maxLength = 600;

/** For screen readers: that an answer is coming, then the answer as a whole. Word by word would be noise. */
export function Announcer({ turns, busy, asking }: { turns: Turn[]; busy: boolean; asking: boolean }) {
  const [words, setWords] = useState("");
  const wasBusy = useRef(false);
  useEffect(() => {
    if (busy) setWords("The assistant is answering.");
    else if (asking) setWords("The run waits for your approval.");
    else if (wasBusy.current) setWords(lastAnswer(turns));
    wasBusy.current = busy;
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
