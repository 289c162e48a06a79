import { type AgentServer, apiOf, type Run, threadPath } from "./agent-api.ts";

/** Breakpoints: the nodes a run stops before or after, or all of them. */
export type Stops = { before: readonly string[]; after: readonly string[] };
export type AllStops = { before: readonly string[] | "*"; after: readonly string[] | "*" };

export type RunRequest = {
  assistant_id: string | undefined;
  input?: unknown;
  command?: { resume: unknown };
  /** Where to begin from; the present when null. */
  checkpoint_id?: string | null;
  stops?: AllStops;
};

/** In the background, after the active run; the page follows every run of the thread anyway. */
export function startRun(server: AgentServer, threadId: string, request: RunRequest): Promise<Run> {
  const { checkpoint_id, stops, ...rest } = request;
  return apiOf(server).post<Run>(`${threadPath(server, threadId)}/runs`, {
    ...rest,
    ...(checkpoint_id ? { checkpoint_id } : {}),
    ...(stops && stops.before.length > 0 ? { interrupt_before: stops.before } : {}),
    ...(stops && stops.after.length > 0 ? { interrupt_after: stops.after } : {}),
    stream_mode: ["values", "messages-tuple", "tasks"],
    stream_subgraphs: true,
    multitask_strategy: "enqueue",
  });
}
