import type { AgentStatus, LifecycleEvent } from "@langchain/protocol";
import { type ProtocolRow, toProtocolRow } from "./protocol-event.ts";
import type { EndStatus } from "./thread-event.ts";

const lifecycleByStatus: Record<EndStatus, AgentStatus> = {
  success: "completed",
  error: "failed",
  timeout: "failed",
  interrupted: "interrupted",
};

export function lifecycleOf(status: EndStatus): AgentStatus {
  return lifecycleByStatus[status];
}

/** Whether a run speaks the streaming protocol: its thread has a client of it, or one started the run. */
export function speaksProtocol(run: { protocol: boolean; kwargs: { protocol?: boolean } }): boolean {
  return run.protocol || run.kwargs.protocol === true;
}

/**
 * Whether a thread that was made for its run goes with it. Its events stay for clients that may still read them, until
 * they are pruned by age. Those of the streaming protocol are not, and a client of another process may wait for the result
 * of what came through the queue: then the whole thread stays for a moment, and goes when it expires.
 */
export function goesWithItsRun(
  run: { temporary: boolean; newThread?: boolean } & Parameters<typeof speaksProtocol>[0],
): boolean {
  return run.temporary && run.newThread === true && !speaksProtocol(run);
}

/** The last event of a run for clients of the protocol; it is committed together with the run's status. */
export function terminalRow(
  run: { graph_id: string },
  outcome: { status: EndStatus; error: { message: string } | null },
  timestamp: number,
): ProtocolRow {
  const error = outcome.error?.message;
  return toProtocolRow(rootLifecycle(lifecycleOf(outcome.status), run.graph_id, timestamp, error));
}

export function rootLifecycle(
  status: AgentStatus,
  graphName: string,
  timestamp: number,
  error?: string,
): LifecycleEvent {
  const data = { event: status, graph_name: graphName, ...(error === undefined ? {} : { error }) };
  return { method: "lifecycle", params: { namespace: [], timestamp, data } };
}
