import { useState } from "react";
import { Icon } from "../icons.tsx";

/** Open while the thought is being had, folded once the answer is there; the person's own choice wins. */
export function Reasoning({ text, live }: { text: string; live: boolean }) {
  const [chosen, setChosen] = useState<boolean>();
  const open = chosen ?? live;
  return (
    <div className={`part reasoning${live ? " live" : ""}`}>
      <button type="button" className="fold" aria-expanded={open} onClick={() => setChosen(!open)}>
        <Icon name="chevron" />
        <span>{live ? "Thinking…" : "Thought it over"}</span>
      </button>
      {open && <p className="reasoning-text">{text}</p>}
    </div>
  );
}
