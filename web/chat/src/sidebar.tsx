import { type KeyboardEvent, useState } from "react";
import type { ThreadSummary } from "./api.ts";
import { Icon, Mark } from "./icons.tsx";

export type SidebarProps = {
  threads: ThreadSummary[] | undefined;
  current: string | null;
  open: boolean;
  onOpen(threadId: string | null): void;
  onDelete(threadId: string): void;
  onClose(): void;
};

const statusWords: Record<ThreadSummary["status"], string> = {
  idle: "",
  busy: "answering",
  interrupted: "waits for you",
  stopped: "stopped",
};

export function Sidebar({ threads, current, open, onOpen, onDelete, onClose }: SidebarProps) {
  return (
    <>
      {open && <button type="button" className="scrim" aria-label="Close the list" onClick={onClose} />}
      <nav className={`sidebar${open ? " open" : ""}`} aria-label="Conversations">
        <header>
          <Mark />
          <span className="brand">Treadle</span>
          <span className="brand-sub">chat example</span>
        </header>
        <button type="button" className="new-thread" onClick={() => onOpen(null)}>
          <Icon name="plus" />
          New conversation
        </button>
        {threads?.length === 0 && (
          <p className="sidebar-note">Nothing here yet. What you ask will be listed here.</p>
        )}
        <ul className="threads" onKeyDown={moveFocus}>
          {threads?.map((thread) => (
            <ThreadRow
              key={thread.thread_id}
              thread={thread}
              isCurrent={thread.thread_id === current}
              onOpen={() => onOpen(thread.thread_id)}
              onDelete={() => onDelete(thread.thread_id)}
            />
          ))}
        </ul>
        <footer>
          <strong>Kept in memory only.</strong> Conversations vanish when the server restarts, and the oldest
          make room when there are too many.
        </footer>
      </nav>
    </>
  );
}

function ThreadRow({
  thread,
  isCurrent,
  onOpen,
  onDelete,
}: {
  thread: ThreadSummary;
  isCurrent: boolean;
  onOpen(): void;
  onDelete(): void;
}) {
  const [asking, setAsking] = useState(false);
  if (asking) {
    return (
      <li className="thread asking">
        <span className="thread-title">Delete this conversation?</span>
        <div className="row">
          {/* biome-ignore lint/a11y/noAutofocus: the focused button has just been replaced by this one. */}
          <button type="button" className="danger solid small" autoFocus onClick={onDelete}>
            Delete
          </button>
          <button type="button" className="quiet small" onClick={() => setAsking(false)}>
            Keep
          </button>
        </div>
      </li>
    );
  }
  return (
    <li className={`thread ${thread.status}`}>
      <button
        type="button"
        className="thread-open"
        aria-current={isCurrent ? "page" : undefined}
        onClick={onOpen}
      >
        <span className="thread-title">{thread.title}</span>
        {thread.status !== "idle" && <span className="thread-status">{statusWords[thread.status]}</span>}
      </button>
      <button
        type="button"
        className="quiet thread-delete"
        aria-label={`Delete “${thread.title}”`}
        onClick={() => setAsking(true)}
      >
        <Icon name="trash" />
      </button>
    </li>
  );
}

/** Up and down go from conversation to conversation. */
function moveFocus(event: KeyboardEvent<HTMLUListElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLButtonElement>(".thread-open")];
  const at = rows.findIndex((row) => row.closest("li")?.contains(document.activeElement));
  rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
  event.preventDefault();
}
