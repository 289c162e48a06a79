import { lazy, Suspense, useCallback, useEffect, useRef, useState } from "react";
import { Chat, type FirstStep } from "./chat.tsx";
import { useConnection } from "./connection.ts";
import { Icon } from "./icons.tsx";
import { LostBanner, NoSuchServer, SignInFirst } from "./notices.tsx";
import type { Assistant, Checkpoint } from "./servers/chat-server.ts";
import { useAssistants } from "./servers/use-assistants.ts";
import { useServers } from "./servers/use-servers.ts";
import { unshare } from "./share/share-api.ts";
import { Sidebar } from "./sidebar.tsx";
import { TitleBar } from "./title-bar.tsx";
import { useAsleep } from "./use-asleep.ts";
import { useGone } from "./use-gone.ts";
import { useThreadAddress } from "./use-thread-address.ts";
import { useThreads } from "./use-threads.ts";

// Not every user opens these, and never at the start.
const HistoryPanel = lazy(() =>
  import("./history-panel.tsx").then((module) => ({ default: module.HistoryPanel })),
);
const ShareDialog = lazy(() =>
  import("./share/share-dialog.tsx").then((module) => ({ default: module.ShareDialog })),
);
const AddServer = lazy(() =>
  import("./servers/add-server.tsx").then((module) => ({ default: module.AddServer })),
);

const isExample = location.pathname.startsWith("/chat/example");
const pageSize = 50;
const searchSize = 500;

export function App() {
  const { view, show, name, reload } = useThreadAddress();
  const servers = useServers(isExample);
  const server = servers.all?.find((one, at) =>
    view.serverId === null ? at === 0 : one.id === view.serverId,
  );
  const { threadId } = view;
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(pageSize);
  const { list, refresh, announce } = useThreads(
    server,
    threadId,
    search === "" ? limit : searchSize,
    servers.look,
  );
  const status = useConnection();
  const { assistants, problem, tryAgain } = useAssistants(server, status === "online");
  const [chosen, setChosen] = useState<string>();
  const [listOpen, setListOpen] = useState(false);
  const [historyOpen, setHistoryOpen] = useState(false);
  const [adding, setAdding] = useState<"new" | "change">();
  const [sharing, setSharing] = useState(false);
  const [past, setPast] = useState<Checkpoint>();
  const [first, setFirst] = useState<FirstStep>();
  const [busy, setBusy] = useState(false);
  const asleep = useAsleep(busy);
  const drafts = useRef(new Map<string, string>());
  const summary = list?.threads.find((thread) => thread.thread_id === threadId);
  const { isGone, begin, forgetBegun } = useGone(threadId, list);
  const assistantId = chooseAssistant(
    assistants,
    chosen ?? summary?.assistant_id ?? view.assistant ?? undefined,
  );
  const serverId = server && servers.all?.[0] !== server ? server.id : null;

  const open = useCallback(
    (id: string | null, step?: FirstStep, to: string | null = serverId) => {
      setFirst(step);
      setPast(undefined);
      setHistoryOpen(false);
      setListOpen(false);
      setChosen(undefined);
      show({ serverId: to, threadId: id });
      void refresh();
    },
    [show, refresh, serverId],
  );
  const again = useCallback(
    (step?: FirstStep) => {
      setFirst(step);
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
    try {
      // The link first: what is deleted is not to be read by anybody.
      if (server && !isExample) await unshare(server, id);
      await server?.deleteThread(id);
      if (id === threadId) open(null);
    } catch {
      // It is still in the list, and the banner says why where the server is away.
    }
    announce();
  };
  const rename = server?.renameThread;
  const renameTo = rename && ((id: string, title: string) => rename(id, title).then(announce, announce));

  if (status === "locked") return <SignInFirst />;
  return (
    <div className={`app${historyOpen ? " with-history" : ""}`}>
      <Sidebar
        server={server}
        threads={list?.threads}
        current={threadId}
        open={listOpen}
        search={search}
        onSearch={setSearch}
        onMore={list?.more && search === "" ? () => setLimit((now) => now + pageSize) : undefined}
        onOpen={(id) => open(id)}
        onDelete={(id) => void remove(id)}
        onRename={renameTo}
        onClose={() => setListOpen(false)}
      />
      <main className="main">
        <TitleBar
          title={summary?.title ?? (isGone ? "A conversation that is gone" : "New conversation")}
          onList={() => setListOpen(true)}
          onRename={summary && renameTo ? (title) => void renameTo(summary.thread_id, title) : undefined}
        >
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
          {summary && !isExample && (
            <button type="button" className="quiet" aria-label="Share" onClick={() => setSharing(true)}>
              <Icon name="share" />
              <span className="only-wide">Share</span>
            </button>
          )}
        </TitleBar>
        {status === "lost" && !problem && <LostBanner />}
        {servers.all && !server && (
          <NoSuchServer signedOut={servers.signedOut} onHome={() => open(null, undefined, null)} />
        )}
        {problem && server && (
          <NoSuchServer
            problem={problem}
            onHome={() => open(null, undefined, null)}
            onTryAgain={tryAgain}
            onChange={server.kind === "address" ? () => setAdding("change") : undefined}
          />
        )}
        {server && list && assistantId !== undefined && !asleep && (
          <Chat
            key={`${server.id} ${view.key} ${assistantId}`}
            server={server}
            threadId={threadId}
            assistants={assistants}
            assistantId={assistantId}
            servers={servers}
            onPick={(to, assistant) => {
              if (to.id === server.id) setChosen(assistant);
              else open(null, undefined, to === servers.all?.[0] ? null : to.id);
            }}
            onAddServer={() => setAdding("new")}
            summary={summary}
            askedAt={list.askedAt}
            gone={isGone}
            past={past}
            onPast={setPast}
            first={first}
            onFirstDone={() => setFirst(undefined)}
            draft={drafts.current.get(`${server.id} ${threadId}`) ?? ""}
            onDraft={(text) => drafts.current.set(`${server.id} ${threadId}`, text)}
            onThreadId={(id) => {
              begin(id);
              name(id);
            }}
            onChanged={announce}
            onBusy={setBusy}
            onReload={again}
            onNew={(step) => open(null, step)}
          />
        )}
      </main>
      <Suspense fallback={null}>
        {historyOpen && threadId && summary && server && (
          <HistoryPanel
            server={server}
            threadId={threadId}
            version={summary.version}
            selected={past?.checkpoint.checkpoint_id}
            onSelect={(step) => {
              setPast(step);
              // There is no room for both.
              if (matchMedia("(max-width: 60rem)").matches) setHistoryOpen(false);
            }}
            onClose={() => setHistoryOpen(false)}
          />
        )}
        {sharing && server && summary && (
          <ShareDialog server={server} thread={summary} onClose={() => setSharing(false)} />
        )}
        {adding && (
          <AddServer
            servers={servers}
            change={adding === "change" ? servers.saved.find(({ id }) => id === server?.id) : undefined}
            onClose={() => setAdding(undefined)}
            onAdded={(id) => {
              setAdding(undefined);
              open(null, undefined, id);
            }}
          />
        )}
      </Suspense>
    </div>
  );
}

/** A thread knows an assistant by its id, or by the graph it is the default of. */
function chooseAssistant(assistants: readonly Assistant[], wanted: string | undefined): string | undefined {
  const found =
    assistants.find(({ assistant_id }) => assistant_id === wanted) ??
    assistants.find(({ graph_id }) => graph_id === wanted);
  return (found ?? assistants[0])?.assistant_id;
}
