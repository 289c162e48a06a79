import type { AgentStatus, AgentStatusEntry, AgentTreeNode } from "@langchain/protocol";
import { lifecycleOf } from "../delivery/terminal-event.ts";
import type { RunStatus } from "../runs/run.ts";

type LifecycleParams = {
  namespace: string[];
  data: { event: AgentStatus; graph_name?: string };
};

/** The tree of a run from the events of its lifecycle channel; the status of the root is the run's own. */
export function buildAgentTree(
  run: { graph_id: string; status: RunStatus },
  lifecycle: readonly LifecycleParams[],
): AgentTreeNode {
  const root: AgentTreeNode = { namespace: [], status: rootStatus(run.status), graph_name: run.graph_id };
  const nodes = new Map<string, AgentTreeNode>([["", root]]);
  for (const { namespace, data } of lifecycle) {
    if (namespace.length === 0) continue;
    const key = namespace.join("|");
    const known = nodes.get(key);
    if (known) {
      known.status = data.event;
      known.graph_name = data.graph_name ?? known.graph_name;
      continue;
    }
    const node: AgentTreeNode = {
      namespace,
      status: data.event,
      graph_name: data.graph_name ?? namespace.at(-1)!,
    };
    nodes.set(key, node);
    const parent = nodes.get(namespace.slice(0, -1).join("|")) ?? root;
    parent.children = [...(parent.children ?? []), node];
  }
  return root;
}

export function flattenTree(node: AgentTreeNode): AgentStatusEntry[] {
  const { namespace, status, children = [] } = node;
  return [{ namespace, status }, ...children.flatMap(flattenTree)];
}

function rootStatus(status: RunStatus): AgentStatus {
  if (status === "pending") return "started";
  return status === "running" ? "running" : lifecycleOf(status);
}
