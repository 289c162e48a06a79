import { CircleStop } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, ErrorState, Skeleton } from "../../../ui/index.ts";
import { toggled } from "../address.ts";
import { type AgentServer, type ThreadState, useGraph, useHistory, useNewestStates } from "../agent-api.ts";
import type { LiveRun } from "../use-live-run.ts";
import type { ThreadAddress } from "../use-thread-address.ts";
import { GraphView } from "./graph-view.tsx";
import { activityOf, activityUnderWay, joinedActivity, noActivity, withStanding } from "./node-activity.ts";

export type GraphPanelProps = {
  server: AgentServer;
  threadId: string;
  assistantId: string;
  assistantName: string;
  state: ThreadState | undefined;
  run: LiveRun;
  address: ThreadAddress;
};

/** The assistant's graph, with what the run that is shown did in it, and where runs are to stop. */
export function GraphPanel({
  server,
  threadId,
  assistantId,
  assistantName,
  state,
  run,
  address,
}: GraphPanelProps) {
  const graph = useGraph(server, assistantId);
  const history = useHistory(server, threadId);
  const [selected, setSelected] = useState<string | null>(null);
  const pages = history.data?.pages;
  const states = useMemo(() => pages?.flat(), [pages]);
  const runId = state?.metadata?.run_id;
  const isPast = address.checkpointId !== null;
  // Started by another client without the mode `tasks`, or just begun.
  const isSilent = run.runId !== null && !isPast && run.activity.nodes.size === 0;
  const newest = useNewestStates(server, threadId, { enabled: isSilent }).data;
  const activity = useMemo(() => {
    // The history has only a part of the active run yet.
    if (run.runId && !isPast) return isSilent ? activityUnderWay(newest ?? [], run.runId) : run.activity;
    const live = !isPast && run.runOf === runId ? run.activity : noActivity;
    const settled = states && runId ? activityOf(states, runId) : noActivity;
    return withStanding(joinedActivity(live, settled), state?.tasks ?? []);
  }, [states, state, runId, isPast, isSilent, newest, run.runId, run.runOf, run.activity]);
  if (graph.error && !graph.data) return <ErrorState error={graph.error} retry={() => graph.refetch()} />;
  if (!graph.data) return <Skeleton lines={4} height="2.5rem" />;
  return (
    <div className="graph-panel">
      <GraphView
        graph={graph.data}
        label={`Graph of ${assistantName}`}
        activity={activity}
        next={run.runId && !isPast ? [] : (state?.next ?? [])}
        stops={address.stops}
        selected={selected}
        onSelect={setSelected}
      />
      {selected && <NodeBar nodeId={selected} address={address} />}
    </div>
  );
}

/** Breakpoints belong to the nodes of the outermost graph: a node inside a subgraph means the one around it. */
function NodeBar({ nodeId, address }: { nodeId: string; address: ThreadAddress }) {
  const [name = nodeId, ...inner] = nodeId.split(":");
  const { before, after } = address.stops;
  return (
    <div className="row graph-node-bar" role="toolbar" aria-label={`Breakpoints of ${name}`}>
      <b>{name}</b>
      {inner.length > 0 && <span className="muted">around {inner.join(" › ")}</span>}
      <Button
        size="small"
        icon={CircleStop}
        aria-pressed={before.includes(name)}
        onClick={() => address.go({ stop_before: toggled(before, name).join() })}
      >
        Stop before
      </Button>
      <Button
        size="small"
        icon={CircleStop}
        aria-pressed={after.includes(name)}
        onClick={() => address.go({ stop_after: toggled(after, name).join() })}
      >
        Stop after
      </Button>
    </div>
  );
}
