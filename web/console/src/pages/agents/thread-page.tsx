import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import {
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
import { JsonView } from "../../ui/json-view.tsx";
import { useCan } from "../../workspace.tsx";
import {
  type AgentServer,
  apiOf,
  type Thread,
  threadHref,
  threadPath,
  useAssistants,
  useRuns,
  useThread,
  useThreadState,
} from "./agent-api.ts";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { HistoryPanel } from "./history-panel.tsx";
import { RunsPanel } from "./runs-panel.tsx";
import { useLiveRun } from "./use-live-run.ts";

export function ThreadPage({ server, threadId }: { server: AgentServer; threadId: string }) {
  const thread = useThread(server, threadId);
  if (thread.data) return <ThreadView server={server} thread={thread.data} />;
  return (
    <Page title="Thread">
      <PageHeader
        crumbs={[
          { label: "Agents", href: "/agents" },
          { label: server.name, href: `/agents/${server.id}` },
        ]}
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

const panels = ["history", "state", "runs"] as const;

function ThreadView({ server, thread }: { server: AgentServer; thread: Thread }) {
  const threadId = thread.thread_id;
  const [params] = useSearchParams();
  const panel = panels.find((name) => name === params.get("panel")) ?? "history";
  const checkpointId = params.get("checkpoint");
  const state = useThreadState(server, threadId, checkpointId);
  const runs = useRuns(server, threadId);
  const assistants = useAssistants(server);
  const mayRun = useCan("editor");
  const running = runs.data?.find(({ status }) => status === "running");
  const run = useLiveRun(server, threadId, running);
  const here = threadHref(server, threadId);
  const at = checkpointId ? `&checkpoint=${encodeURIComponent(checkpointId)}` : "";
  return (
    <Page title="Thread" width="full">
      <PageHeader
        crumbs={[
          { label: "Agents", href: "/agents" },
          { label: server.name, href: `/agents/${server.id}` },
        ]}
        title={<span className="thread-id">{threadId}</span>}
        badge={<StatusBadge status={run.runId ? "busy" : thread.status} />}
        actions={mayRun && <DeleteThread server={server} threadId={threadId} />}
      />
      <div className="thread-columns">
        <section className="thread-talk" aria-label="Conversation">
          {state.error && !state.data ? (
            <ErrorState error={state.error} retry={() => state.refetch()} />
          ) : state.data ? (
            <Conversation
              key={checkpointId}
              server={server}
              threadId={threadId}
              state={state.data}
              run={run}
              past={checkpointId !== null}
              lastAssistant={runs.data?.[0]?.assistant_id}
              here={here}
            />
          ) : (
            <Skeleton lines={5} height="3rem" />
          )}
          {mayRun && (
            <Composer
              server={server}
              threadId={threadId}
              assistants={assistants.data ?? []}
              lastAssistant={runs.data?.[0]?.assistant_id}
              runId={run.runId}
              checkpointId={checkpointId}
              here={here}
            />
          )}
        </section>
        <section className="thread-side" aria-label="Details">
          <Tabs
            label="Details"
            current={panel}
            tabs={panels.map((id) => ({ id, label: titles[id], href: `${here}?panel=${id}${at}` }))}
          />
          {panel === "history" && (
            <HistoryPanel server={server} threadId={threadId} here={here} at={checkpointId} />
          )}
          {panel === "runs" && <RunsPanel runs={runs} assistants={assistants.data ?? []} />}
          {panel === "state" && state.data && <JsonView label="the state" value={state.data} open={2} />}
        </section>
      </div>
    </Page>
  );
}

const titles = { history: "History", state: "State", runs: "Runs" } as const;

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
