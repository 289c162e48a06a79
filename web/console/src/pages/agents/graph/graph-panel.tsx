import { CircleStop } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, ErrorState, Skeleton } from "../../../ui/index.ts";
import { toggled } from "../address.ts";
import { type AgentServer, type ThreadState, useGraph, useHistory } from "../agent-api.ts";
import type { LiveRun } from "../use-live-run.ts";
import type { ThreadAddress } from "../use-thread-address.ts";
import { GraphView } from "./graph-view.tsx";
import { activityOf, joinedActivity, noActivity } from "./node-activity.ts";

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
  const states = history.data?.pages.flat();
  const runId = state?.metadata?.run_id;
  const isPast = address.checkpointId !== null;
  const activity = useMemo(() => {
    const settled = states && runId ? activityOf(states, runId) : noActivity;
    if (isPast) return settled;
    // Of the run under way the history has only a part yet.
    return run.runId
      ? run.activity
      : joinedActivity(run.runOf === runId ? run.activity : noActivity, settled);
  }, [states, runId, isPast, run.runId, run.runOf, run.activity]);
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

/** Breakpoints belong to the nodes of the outermost graph: a node inside a subgraph stands for the one around it. */
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
