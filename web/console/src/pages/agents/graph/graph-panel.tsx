import { CircleStop } from "lucide-react";
import { type KeyboardEvent, useMemo, useState } from "react";
import { Button, ErrorState, Skeleton } from "../../../ui/index.ts";
import { toggled } from "../address.ts";
import { type AgentServer, type ThreadState, useGraph, useHistory, useNewestStates } from "../agent-api.ts";
import type { LiveRun } from "../use-live-run.ts";
import type { ThreadAddress } from "../use-thread-address.ts";
import { GraphView } from "./graph-view.tsx";
import { activityOf, activityUnderWay, joinedActivity, noActivity, withStanding } from "./node-activity.ts";
import { stepInto } from "./tab-order.ts";

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
    // biome-ignore lint/a11y/noStaticElementInteractions: only the order of what is inside
    <div className="graph-panel" onKeyDown={(event) => keepOrder(event, selected, setSelected)}>
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

/** Tab leads from the chosen node to its toolbar and on to the next node; Escape leads back to the node. */
function keepOrder(
  event: KeyboardEvent<HTMLDivElement>,
  selected: string | null,
  onSelect: (nodeId: string | null) => void,
): void {
  if (selected === null || (event.key !== "Tab" && event.key !== "Escape")) return;
  const all = (which: string) => [...event.currentTarget.querySelectorAll<HTMLElement | SVGElement>(which)];
  const nodes = all("[data-node]");
  const bar = all(".graph-node-bar button");
  const chosen = nodes.find((node) => node.getAttribute("data-node") === selected);
  const current = document.activeElement as HTMLElement;
  if (event.key === "Escape") {
    if (!bar.includes(current)) return;
    onSelect(null);
    chosen?.focus();
    return;
  }
  const given = { nodes, bar, tools: all(".graph-tools button"), selected: chosen };
  const next = stepInto<HTMLElement | SVGElement>({ ...given, current, isBack: event.shiftKey });
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
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
        tabIndex={-1}
        icon={CircleStop}
        aria-pressed={before.includes(name)}
        onClick={() => address.go({ stop_before: toggled(before, name).join() })}
      >
        Stop before
      </Button>
      <Button
        size="small"
        tabIndex={-1}
        icon={CircleStop}
        aria-pressed={after.includes(name)}
        onClick={() => address.go({ stop_after: toggled(after, name).join() })}
      >
        Stop after
      </Button>
    </div>
  );
}
