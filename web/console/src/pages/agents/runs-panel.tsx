import { type UseQueryResult, useMutation } from "@tanstack/react-query";
import { Waypoints } from "lucide-react";
import { useLocation } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import type { TraceRun } from "../../api/wire.ts";
import { Button, Duration, EmptyState, ListState, StatusBadge, Time, toast } from "../../ui/index.ts";
import type { Assistant, Run } from "./agent-api.ts";

export type RunsPanelProps = {
  runs: UseQueryResult<Run[]>;
  assistants: readonly Assistant[];
};

export function RunsPanel({ runs, assistants }: RunsPanelProps) {
  const nameOf = (id: string) => assistants.find(({ assistant_id }) => assistant_id === id)?.name ?? id;
  return (
    <ListState
      of={runs}
      rows={runs.data}
      lines={3}
      height="2.6rem"
      empty={<EmptyState title="Nothing ran here yet">Send a message to start the first run.</EmptyState>}
    >
      {(rows) => (
        <ul className="runs">
          {rows.map((run) => (
            <li key={run.run_id}>
              <div>
                <b>{nameOf(run.assistant_id)}</b> <StatusBadge status={run.status} />
                <div className="muted">
                  <Time at={run.created_at} />
                  {isOver(run) && (
                    <>
                      {" · "}
                      <Duration ms={Date.parse(run.updated_at) - Date.parse(run.created_at)} />
                    </>
                  )}
                </div>
              </div>
              <TraceButton runId={run.run_id} />
            </li>
          ))}
        </ul>
      )}
    </ListState>
  );
}

function isOver({ status }: Run): boolean {
  return status !== "pending" && status !== "running";
}

/** The trace of a run has the run's own id. */
function TraceButton({ runId }: { runId: string }) {
  const [, navigate] = useLocation();
  const open = useMutation({
    mutationFn: () => api.get<TraceRun>(`/api/v1/runs/${runId}`),
    onSuccess: ({ app_path }) => navigate(app_path),
    onError: (error) =>
      toast.bad(
        error instanceof ApiError && error.status === 404
          ? "This run has no trace: it is not over yet, or it was not traced."
          : error,
      ),
  });
  return (
    <Button size="small" look="quiet" icon={Waypoints} busy={open.isPending} onClick={() => open.mutate()}>
      Trace
    </Button>
  );
}
