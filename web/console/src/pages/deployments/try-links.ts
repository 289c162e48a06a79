/** Where the chat opens on a deployment, with one of its graphs. */
export function chatHref(deploymentId: string, graphId: string | undefined): string {
  const graph = graphId === undefined ? "" : `/a/${encodeURIComponent(graphId)}`;
  return `/chat#/s/${deploymentId}${graph}`;
}

/** The graphs a server has, each once, in the order of their names; `agent` is what most people want first. */
export function graphNames(assistants: readonly { graph_id: string }[]): string[] {
  const names = [...new Set(assistants.map(({ graph_id }) => graph_id))].sort();
  return names.includes("agent") ? ["agent", ...names.filter((name) => name !== "agent")] : names;
}
