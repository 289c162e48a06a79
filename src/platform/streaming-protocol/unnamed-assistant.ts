/** What `useStream` sends for the assistant when it was given none. */
export const unnamedAssistant = "_";

/** The graph that runs for a client that names no assistant: `agent`, or the only one there is. */
export function defaultGraphId(graphIds: readonly string[]): string | undefined {
  if (graphIds.includes("agent")) return "agent";
  return graphIds.length === 1 ? graphIds[0] : undefined;
}
