import { Minus, Pencil, Plus } from "lucide-react";
import { isChatMessage } from "../../../ui/chat-message.ts";
import { JsonView } from "../../../ui/json-view.tsx";
import { MessageView } from "../../../ui/message-view.tsx";
import type { Change } from "./state-diff.ts";
import "./history.css";

const icons = { added: Plus, removed: Minus, changed: Pencil } as const;
const shownAtOnce = 30;

/** What is new, gone or different, one by one. */
export function ChangeList({ changes, by }: { changes: readonly Change[]; by?(channel: string): string[] }) {
  return (
    <ul className="step-diff" aria-label="What changed">
      {changes.slice(0, shownAtOnce).map((change) => (
        <li key={[change.channel, ...change.path].join("/")} className={change.kind}>
          <ChangeView change={change} nodes={by?.(change.channel) ?? []} />
        </li>
      ))}
      {changes.length > shownAtOnce && <li className="muted">and {changes.length - shownAtOnce} more.</li>}
    </ul>
  );
}

function ChangeView({ change, nodes }: { change: Change; nodes: readonly string[] }) {
  const Icon = icons[change.kind];
  const { channel, path, kind, before, after } = change;
  return (
    <>
      <header>
        <Icon aria-hidden="true" size={13} />
        <span className="spoken">{kind}: </span>
        <code>{[channel, ...path.filter((part) => part.length < 24)].join(".")}</code>
        {nodes.length > 0 && nodes[0] !== "__start__" && <span className="muted">by {nodes.join(", ")}</span>}
      </header>
      {kind === "changed" && <Value label="what it was" value={before} className="was" />}
      <Value label="the value" value={kind === "removed" ? before : after} />
    </>
  );
}

function Value({ label, value, className = "" }: { label: string; value: unknown; className?: string }) {
  return (
    <div className={className}>
      {isChatMessage(value) ? (
        <MessageView message={value} />
      ) : (
        <JsonView label={label} value={value} open={1} />
      )}
    </div>
  );
}
