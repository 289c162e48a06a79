import { Link, useLocation } from "wouter";
import { ErrorState, Select, Skeleton, StatusBadge } from "../../../ui/index.ts";
import {
  type AgentServer,
  type Assistant,
  threadHref,
  useRuns,
  useThread,
  useThreadState,
} from "../agent-api.ts";
import { Conversation } from "../conversation.tsx";
import { useLiveRun } from "../use-live-run.ts";
import type { ThreadAddress } from "../use-thread-address.ts";

export type CompareColumnProps = {
  side: "left" | "right";
  server: AgentServer;
  threadId: string;
  assistants: readonly Assistant[];
  assistantId: string | undefined;
  onChoose(assistantId: string): void;
};

/** One of the two: who answers, and what was said. */
export function CompareColumn(props: CompareColumnProps) {
  const { side, server, threadId, assistants, assistantId, onChoose } = props;
  const thread = useThread(server, threadId);
  const state = useThreadState(server, threadId, null);
  const runs = useRuns(server, threadId);
  const run = useLiveRun(server, threadId, runs.data);
  const [, navigate] = useLocation();
  const here = threadHref(server, threadId);
  // Its history and its breakpoints are on its own page.
  const address: ThreadAddress = {
    panel: null,
    checkpointId: null,
    assistantId: null,
    stops: { before: [], after: [] },
    hrefWith: () => here,
    go: () => navigate(here),
  };
  return (
    <div className="compare-column">
      <div className="row">
        <Select
          aria-label={`Assistant on the ${side}`}
          value={assistantId ?? ""}
          onChange={(event) => onChoose(event.target.value)}
          options={assistants.map(({ assistant_id, name }) => ({ value: assistant_id, label: name }))}
        />
        <StatusBadge status={run.runId ? "busy" : (thread.data?.status ?? "idle")} />
        <span className="spread" />
        <Link href={here}>Open the thread</Link>
      </div>
      {state.data ? (
        <Conversation
          server={server}
          threadId={threadId}
          state={state.data}
          error={thread.data?.error}
          run={run}
          past={false}
          assistantId={runs.data?.[0]?.assistant_id ?? assistantId}
          address={address}
          label={`Conversation on the ${side}`}
        />
      ) : state.error ? (
        <ErrorState error={state.error} retry={() => state.refetch()} />
      ) : (
        <Skeleton lines={4} height="3rem" />
      )}
    </div>
  );
}
