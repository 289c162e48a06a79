import { useEffect, useRef, useState } from "react";
import { afterTelling, answerToTell, isToBeTold, type Told } from "./announcement.ts";
import type { Turn } from "./turns.ts";

/** The end of a run may be known before its last words are. */
const settleMs = 300;

/** For screen readers: that an answer is coming, then the answer as a whole. Word by word would be noise. */
export function Announcer({ turns, busy, asking }: { turns: Turn[]; busy: boolean; asking: boolean }) {
  const [words, setWords] = useState("");
  const told = useRef<Told>({ due: false, lastId: undefined });
  useEffect(() => {
    if (busy || asking) {
      told.current.due = busy;
      setWords(busy ? "The assistant is answering." : "The run waits for your approval.");
      return;
    }
    if (!isToBeTold(told.current, turns)) return;
    const timer = setTimeout(() => {
      told.current = afterTelling(turns);
      setWords(answerToTell(turns));
    }, settleMs);
    return () => clearTimeout(timer);
  }, [busy, asking, turns]);
  return (
    <div className="hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}
