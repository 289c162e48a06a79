import { useEffect, useRef, useState } from "react";
import { type Announced, afterAnnouncing, announcementOf, isAnnouncementDue } from "./announcement.ts";
import type { Turn } from "./turns.ts";

/** The end of a run may be known before its last words are. */
const settleMs = 300;

/** For screen readers: that an answer is coming, then the answer as a whole. Word by word would be noise. */
export function Announcer({ turns, busy, asking }: { turns: Turn[]; busy: boolean; asking: boolean }) {
  const [words, setWords] = useState("");
  const announced = useRef<Announced>({ due: false, lastId: undefined });
  useEffect(() => {
    if (busy || asking) {
      announced.current.due = busy;
      setWords(busy ? "The assistant is answering." : "The run waits for your approval.");
      return;
    }
    if (!isAnnouncementDue(announced.current, turns)) return;
    const timer = setTimeout(() => {
      announced.current = afterAnnouncing(turns);
      setWords(announcementOf(turns));
    }, settleMs);
    return () => clearTimeout(timer);
  }, [busy, asking, turns]);
  return (
    <div className="hidden" role="status" aria-live="polite">
      {words}
    </div>
  );
}
