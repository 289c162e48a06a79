import { type AgentServer, apiOf, type Run, threadPath } from "./agent-api.ts";

export type RunRequest = {
  assistant_id: string | undefined;
  input?: unknown;
  command?: { resume: unknown };
  /** Where to begin from; the present when null. */
  checkpoint_id?: string | null;
};

/** In the background, after what is under way; the page follows every run of the thread anyway. */
export function startRun(server: AgentServer, threadId: string, request: RunRequest): Promise<Run> {
  const { checkpoint_id, ...rest } = request;
  return apiOf(server).post<Run>(`${threadPath(server, threadId)}/runs`, {
    ...rest,
    ...(checkpoint_id ? { checkpoint_id } : {}),
    stream_mode: ["values", "messages-tuple"],
    multitask_strategy: "enqueue",
  });
}
