import { useCallback, useEffect, useRef, useState } from "react";
import { type Assistant, type Checkpoint, deleteThread, listAssistants } from "./api.ts";
import { Chat } from "./chat.tsx";
import { useConnection } from "./connection.ts";
import { HistoryPanel } from "./history-panel.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { LostBanner, SignInFirst } from "./notices.tsx";
import { Sidebar } from "./sidebar.tsx";
import { useAsleep } from "./use-asleep.ts";
import { useGone } from "./use-gone.ts";
import { type Theme, useTheme } from "./use-theme.ts";
import { useThreadAddress } from "./use-thread-address.ts";
import { useThreads } from "./use-threads.ts";

const themeIcons: Record<Theme, IconName> = { system: "contrast", light: "sun", dark: "moon" };

export function App() {
  const { view, show, name, reload } = useThreadAddress();
  const { list, refresh, announce } = useThreads();
  const status = useConnection();
  const [theme, nextTheme] = useTheme();
  const assistants = useAssistants(status === "online");
  const [chosen, setChosen] = useState<string>();
  const [listOpen, setListOpen] = useState(false);
  const [historyOpen, setHistoryOpen] = useState(false);
  const [past, setPast] = useState<Checkpoint>();
  const [firstMessage, setFirstMessage] = useState<string>();
  const [busy, setBusy] = useState(false);
  const asleep = useAsleep(busy);
  const drafts = useRef(new Map<string | null, string>());
  const { threadId } = view;
  const summary = list?.threads.find((thread) => thread.thread_id === threadId);
  const { isGone, begin, forgetBegun } = useGone(threadId, list);
  const isReady = list !== undefined && assistants.length > 0;
  const assistantId = chosen ?? summary?.assistant_id ?? assistants[0]?.assistant_id;

  const open = useCallback(
    (id: string | null, message?: string) => {
      setFirstMessage(message);
      setPast(undefined);
      setHistoryOpen(false);
      setListOpen(false);
      setChosen(undefined);
      show(id);
      void refresh();
    },
    [show, refresh],
  );
  const again = useCallback(
    (message?: string) => {
      setFirstMessage(message);
      reload();
      announce();
    },
    [reload, announce],
  );

  // Back after a pause: what was missed is in the thread, if the thread is still there.
  const lostAt = useRef<number>(undefined);
  useEffect(() => {
    if (status === "lost") {
      lostAt.current = performance.now();
      forgetBegun();
    } else if (lostAt.current !== undefined && list && list.askedAt > lostAt.current) {
      lostAt.current = undefined;
      if (!isGone && threadId !== null) reload();
    }
  }, [status, list, threadId, isGone, reload, forgetBegun]);

  useEffect(() => {
    document.title = summary ? `${summary.title} · Treadle` : "Chat · Treadle";
  }, [summary]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        setListOpen(false);
        setHistoryOpen(false);
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const remove = async (id: string) => {
    await deleteThread(id).catch(() => undefined);
    if (id === threadId) open(null);
    announce();
  };

  if (status === "locked") return <SignInFirst />;
  return (
    <div className={`app${historyOpen ? " with-history" : ""}`}>
      <Sidebar
        threads={list?.threads}
        current={threadId}
        open={listOpen}
        onOpen={open}
        onDelete={(id) => void remove(id)}
        onClose={() => setListOpen(false)}
      />
      <main className="main">
        <header className="topbar">
          <button
            type="button"
            className="quiet only-narrow"
            aria-label="Conversations"
            onClick={() => setListOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <h2>{summary?.title ?? (isGone ? "A conversation that is gone" : "New conversation")}</h2>
          {summary && (
            <button
              type="button"
              className="quiet"
              aria-label="History"
              aria-pressed={historyOpen}
              onClick={() => setHistoryOpen(!historyOpen)}
            >
              <Icon name="clock" />
              <span className="only-wide">History</span>
            </button>
          )}
          <button
            type="button"
            className="quiet"
            aria-label={`Colours: ${theme}. Change`}
            onClick={nextTheme}
          >
            <Icon name={themeIcons[theme]} />
          </button>
        </header>
        {status === "lost" && <LostBanner />}
        {isReady && assistantId !== undefined && !asleep && (
          <Chat
            key={`${view.key} ${assistantId}`}
            threadId={threadId}
            assistants={assistants}
            assistantId={assistantId}
            onAssistant={setChosen}
            summary={summary}
            askedAt={list?.askedAt ?? 0}
            gone={isGone}
            past={past}
            onPast={setPast}
            firstMessage={firstMessage}
            onFirstSent={() => setFirstMessage(undefined)}
            draft={drafts.current.get(threadId) ?? ""}
            onDraft={(text) => drafts.current.set(threadId, text)}
            onThreadId={(id) => {
              begin(id);
              name(id);
            }}
            onChanged={announce}
            onBusy={setBusy}
            onReload={again}
            onNew={(message) => open(null, message)}
          />
        )}
      </main>
      {historyOpen && threadId && summary && (
        <HistoryPanel
          threadId={threadId}
          version={summary.checkpoint_id}
          selected={past?.checkpoint.checkpoint_id}
          onSelect={(step) => {
            setPast(step);
            // There is no room for both.
            if (matchMedia("(max-width: 60rem)").matches) setHistoryOpen(false);
          }}
          onClose={() => setHistoryOpen(false)}
        />
      )}
    </div>
  );
}

function useAssistants(online: boolean): Assistant[] {
  const [assistants, setAssistants] = useState<Assistant[]>([]);
  useEffect(() => {
    if (!online || assistants.length > 0) return;
    listAssistants().then(setAssistants, () => undefined);
  }, [online, assistants.length]);
  return assistants;
}
