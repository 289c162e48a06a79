import { useMutation } from "@tanstack/react-query";
import { Columns2, MessagesSquare, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { isStudio } from "../../studio-mode.ts";
import {
  Button,
  ConfirmDialog,
  ErrorState,
  IconButton,
  Page,
  PageHeader,
  Skeleton,
  StatusBadge,
  Tabs,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type AgentServer,
  type Assistant,
  agentsCrumb,
  apiOf,
  chatThreadHref,
  compareHref,
  type Run,
  type Thread,
  type ThreadState,
  threadPath,
  useAssistants,
  useRuns,
  useThread,
  useThreadState,
} from "./agent-api.ts";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { GraphPanel } from "./graph/graph-panel.tsx";
import { HistoryPanel } from "./history/history-panel.tsx";
import { StatePanel } from "./history/state-panel.tsx";
import { preferredAssistant } from "./preferred-assistant.ts";
import { RunsPanel } from "./runs-panel.tsx";
import { titleOf } from "./thread-title.ts";
import { useKeptFocus } from "./use-kept-focus.ts";
import { useLiveRun } from "./use-live-run.ts";
import { type ThreadAddress, useThreadAddress } from "./use-thread-address.ts";

export function ThreadPage({ server, threadId }: { server: AgentServer; threadId: string }) {
  const thread = useThread(server, threadId);
  if (thread.data) return <ThreadView server={server} thread={thread.data} />;
  return (
    <Page title="Thread">
      <PageHeader
        crumbs={[...agentsCrumb, { label: server.name, href: `/agents/${server.id}` }]}
        title={<span className="thread-id">{threadId}</span>}
      />
      {thread.error ? (
        <ErrorState error={thread.error} retry={() => thread.refetch()} />
      ) : (
        <Skeleton lines={6} height="3rem" />
      )}
    </Page>
  );
}

function ThreadView({ server, thread }: { server: AgentServer; thread: Thread }) {
  const threadId = thread.thread_id;
  const address = useThreadAddress(server, threadId);
  const { checkpointId } = address;
  const state = useThreadState(server, threadId, checkpointId);
  const runs = useRuns(server, threadId);
  const assistants = useAssistants(server);
  const mayRun = useCan("editor");
  const run = useLiveRun(server, threadId, runs.data);
  const assistant = chosenAssistant(assistants.data ?? [], address.assistantId, runs.data);
  const ranLast = runs.data?.[0]?.assistant_id ?? assistant?.assistant_id;
  const title = titleOf(thread);
  const columns = useRef<HTMLDivElement>(null);
  useKeptFocus(columns);
  return (
    <Page title={title ?? "Thread"} width="full">
      <PageHeader
        crumbs={[...agentsCrumb, { label: server.name, href: `/agents/${server.id}` }]}
        title={title === null ? <span className="thread-id">{threadId}</span> : title}
        description={title === null ? undefined : <code>{threadId}</code>}
        badge={<StatusBadge status={run.runId ? "busy" : thread.status} />}
        actions={
          mayRun && (
            <>
              {!isStudio && (
                <a className="button small" href={chatThreadHref(server.id, threadId)}>
                  <MessagesSquare aria-hidden="true" size={15} />
                  Open in chat
                </a>
              )}
              <CompareThread server={server} threadId={threadId} assistantId={assistant?.assistant_id} />
              <DeleteThread server={server} threadId={threadId} />
            </>
          )
        }
      />
      <div className="thread-columns" ref={columns}>
        <div className="thread-talk">
          {state.error && !state.data ? (
            <ErrorState error={state.error} retry={() => state.refetch()} />
          ) : state.data ? (
            <Conversation
              key={checkpointId}
              server={server}
              threadId={threadId}
              state={state.data}
              error={thread.error}
              run={run}
              past={checkpointId !== null}
              assistantId={ranLast}
              address={address}
            />
          ) : (
            <Skeleton lines={5} height="3rem" />
          )}
          {mayRun && (
            <Composer
              server={server}
              threadId={threadId}
              assistants={assistants.data ?? []}
              assistantId={assistant?.assistant_id}
              runId={run.runId}
              address={address}
            />
          )}
        </div>
        <div className="thread-side">
          <section className="thread-graph card" aria-label="Graph">
            {assistant && (
              <GraphPanel
                key={assistant.assistant_id}
                server={server}
                threadId={threadId}
                assistantId={assistant.assistant_id}
                assistantName={assistant.name}
                state={state.data}
                run={run}
                address={address}
              />
            )}
          </section>
          <ThreadDetails
            server={server}
            threadId={threadId}
            address={address}
            state={state.data}
            runs={runs}
            assistants={assistants.data ?? []}
            assistantId={ranLast}
            busy={run.runId !== null}
          />
        </div>
      </div>
    </Page>
  );
}

/** The one that was chosen, else the one that ran last, else the one most people begin with. */
function chosenAssistant(
  assistants: readonly Assistant[],
  chosen: string | null,
  runs: readonly Run[] | undefined,
): Assistant | undefined {
  const byId = (id: string | null | undefined) => assistants.find(({ assistant_id }) => assistant_id === id);
  const wanted = byId(chosen) ?? byId(runs?.[0]?.assistant_id);
  // Until the runs are known, the graph would be drawn for one and then for another.
  return wanted ?? (runs && preferredAssistant(assistants));
}

type ThreadDetailsProps = {
  server: AgentServer;
  threadId: string;
  address: ThreadAddress;
  state: ThreadState | undefined;
  runs: ReturnType<typeof useRuns>;
  assistants: readonly Assistant[];
  assistantId: string | undefined;
  busy: boolean;
};

function ThreadDetails(props: ThreadDetailsProps) {
  const { server, threadId, address, state, runs, assistants, assistantId, busy } = props;
  const panel = panels.find((name) => name === address.panel) ?? "history";
  const tabs = panels.map((id) => ({ id, label: titles[id], href: address.hrefWith({ panel: id }) }));
  return (
    <section className="thread-details" aria-label="Details">
      <Tabs label="Details" current={panel} tabs={tabs} />
      <div key={panel} className="thread-panel">
        {panel === "history" && (
          <HistoryPanel server={server} threadId={threadId} busy={busy} address={address} />
        )}
        {panel === "runs" && (
          <RunsPanel server={server} address={address} runs={runs} assistants={assistants} />
        )}
        {panel === "state" && state && (
          <StatePanel
            key={address.checkpointId}
            server={server}
            threadId={threadId}
            assistantId={assistantId}
            state={state}
            busy={busy}
            address={address}
          />
        )}
      </div>
    </section>
  );
}

const panels = ["history", "state", "runs"] as const;
const titles = { history: "History", state: "State", runs: "Runs" } as const;

/** Beside a copy of itself: the same past, and another assistant for what comes. */
function CompareThread({
  server,
  threadId,
  assistantId,
}: {
  server: AgentServer;
  threadId: string;
  assistantId: string | undefined;
}) {
  const [, navigate] = useLocation();
  const copy = useMutation({
    mutationFn: () => apiOf(server).post<Thread>(`${threadPath(server, threadId)}/copy`),
    onSuccess: ({ thread_id }) => navigate(compareHref(server, threadId, thread_id, assistantId)),
    onError: (error) => toast.bad(error),
  });
  return (
    <Button size="small" icon={Columns2} busy={copy.isPending} onClick={() => copy.mutate()}>
      Compare with a copy
    </Button>
  );
}

function DeleteThread({ server, threadId }: { server: AgentServer; threadId: string }) {
  const [asked, setAsked] = useState(false);
  const [, navigate] = useLocation();
  return (
    <>
      <IconButton label="Delete this thread" icon={Trash2} onClick={() => setAsked(true)} />
      {asked && (
        <ConfirmDialog
          title="Delete this thread?"
          action="Delete the thread"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await apiOf(server).delete(threadPath(server, threadId));
            toast.good("The thread is deleted.");
            navigate(`/agents/${server.id}`);
          }}
        >
          Its messages, its history and its runs are deleted with it. Traces of its runs stay.
        </ConfirmDialog>
      )}
    </>
  );
}
