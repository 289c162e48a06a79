import type * as wire from "../../api/wire.ts";

type Known = Pick<wire.Assistant, "graph_id" | "metadata">;

/** The one most people begin with: that of the graph `agent`, as the server made it, before any that somebody made. */
export function preferredAssistant<Assistant extends Known>(
  assistants: readonly Assistant[],
): Assistant | undefined {
  const agents = assistants.filter(({ graph_id }) => graph_id === "agent");
  const ofServer = (some: readonly Assistant[]) =>
    some.find(({ metadata }) => metadata?.created_by === "system");
  return ofServer(agents) ?? agents[0] ?? ofServer(assistants) ?? assistants[0];
}
