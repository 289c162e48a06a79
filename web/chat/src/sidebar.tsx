import { type KeyboardEvent, useState } from "react";
import { Icon, Mark } from "./icons.tsx";
import type { ChatServer, ThreadSummary } from "./servers/chat-server.ts";
import { TitleField } from "./title-bar.tsx";

export type SidebarProps = {
  server: ChatServer | undefined;
  threads: ThreadSummary[] | undefined;
  current: string | null;
  open: boolean;
  search: string;
  onSearch(words: string): void;
  /** Undefined where all are there. */
  onMore: (() => void) | undefined;
  /** Undefined where titles cannot be changed. */
  onRename: ((threadId: string, title: string) => void) | undefined;
  onOpen(threadId: string | null): void;
  onDelete(threadId: string): void;
  onClose(): void;
};

const statusWords: Record<ThreadSummary["status"], string> = {
  idle: "",
  busy: "answering",
  interrupted: "waits for you",
  stopped: "stopped",
  failed: "failed",
};

export function Sidebar(props: SidebarProps) {
  const { server, threads, current, open, search, onSearch, onMore, onOpen, onDelete, onRename, onClose } =
    props;
  const found = threads?.filter((thread) => matches(thread.title, search));
  const isExample = server?.kind === "example";
  return (
    <>
      {open && <button type="button" className="scrim" aria-label="Close the list" onClick={onClose} />}
      <nav className={`sidebar${open ? " open" : ""}`} aria-label="Conversations">
        <header>
          <Mark />
          <span className="brand">Treadle</span>
          <span className="brand-sub">{isExample ? "chat example" : "chat"}</span>
        </header>
        <button type="button" className="new-thread" onClick={() => onOpen(null)}>
          <Icon name="plus" />
          New conversation
        </button>
        <label className="thread-search">
          <span className="hidden">Search conversations</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search"
            value={search}
            onChange={(event) => onSearch(event.target.value)}
          />
        </label>
        {threads?.length === 0 && (
          <p className="sidebar-note">Nothing here yet. What you ask will be listed here.</p>
        )}
        {threads && threads.length > 0 && found?.length === 0 && (
          <p className="sidebar-note">No conversation has these words in its title.</p>
        )}
        <ul className="threads" onKeyDown={moveFocus}>
          {found?.map((thread) => (
            <ThreadRow
              key={thread.thread_id}
              thread={thread}
              isCurrent={thread.thread_id === current}
              onOpen={() => onOpen(thread.thread_id)}
              onDelete={() => onDelete(thread.thread_id)}
              onRename={onRename && ((title) => onRename(thread.thread_id, title))}
            />
          ))}
        </ul>
        {onMore && (
          <button type="button" className="more" onClick={onMore}>
            Older conversations
          </button>
        )}
        <footer>
          {isExample ? (
            <>
              <strong>Kept in memory only.</strong> Conversations are lost when the server restarts, and the
              oldest are removed when there are too many. <a href="/chat">The chat that keeps them</a>.
            </>
          ) : (
            <>
              <a href="/">Console</a> · <a href="/chat/example">Example to copy</a>
            </>
          )}
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
  onRename,
}: {
  thread: ThreadSummary;
  isCurrent: boolean;
  onOpen(): void;
  onDelete(): void;
  onRename: ((title: string) => void) | undefined;
}) {
  const [asking, setAsking] = useState(false);
  const [naming, setNaming] = useState(false);
  if (naming && onRename) {
    return (
      <li className="thread naming">
        <TitleField
          title={thread.title}
          onDone={(title) => {
            setNaming(false);
            if (title !== undefined) onRename(title);
          }}
        />
      </li>
    );
  }
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
        onDoubleClick={onRename && (() => setNaming(true))}
        onKeyDown={(event) => {
          if (event.key === "F2" && onRename) setNaming(true);
        }}
        title={onRename ? "F2, or two clicks, to rename" : undefined}
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

/** Every word, in any order. */
function matches(title: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => title.toLowerCase().includes(word));
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
