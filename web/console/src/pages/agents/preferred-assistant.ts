import type * as wire from "../../api/wire.ts";

type Known = Pick<wire.Assistant, "graph_id" | "metadata">;

/** The one most people begin with: the default assistant of the graph `agent`, before any that a user made. */
export function preferredAssistant<Assistant extends Known>(
  assistants: readonly Assistant[],
): Assistant | undefined {
  const agents = assistants.filter(({ graph_id }) => graph_id === "agent");
  const ofServer = (some: readonly Assistant[]) =>
    some.find(({ metadata }) => metadata?.created_by === "system");
  return ofServer(agents) ?? agents[0] ?? ofServer(assistants) ?? assistants[0];
}
