import type { AgentStatus } from "@langchain/protocol";
import { rootLifecycle } from "../execution/protocol/protocol-events.ts";
import type { ClaimedRun, RunError, RunOutcome } from "../runs/run.ts";
import { type ProtocolRow, toProtocolRow } from "./protocol-event.ts";

const lifecycleByStatus: Record<RunOutcome["status"], AgentStatus> = {
  success: "completed",
  error: "failed",
  timeout: "failed",
  interrupted: "interrupted",
};

export function lifecycleOf(status: RunOutcome["status"]): AgentStatus {
  return lifecycleByStatus[status];
}

/** Whether a run speaks the streaming protocol: its thread has a client of it, or one started the run. */
export function speaksProtocol(run: Pick<ClaimedRun, "protocol" | "kwargs">): boolean {
  return run.protocol || run.kwargs.protocol === true;
}

/** The last thing clients of the protocol hear of a run; it is committed together with the run's status. */
export function terminalRow(
  run: Pick<ClaimedRun, "graph_id">,
  outcome: { status: RunOutcome["status"]; error: RunError | null },
  timestamp: number,
): ProtocolRow {
  const error = outcome.error?.message;
  return toProtocolRow(rootLifecycle(lifecycleOf(outcome.status), run.graph_id, timestamp, error));
}
