import { type UseQueryResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw, Waypoints } from "lucide-react";
import { useLocation } from "wouter";
import { ApiError, api } from "../../api/client.ts";
import type { TraceRun } from "../../api/wire.ts";
import { isStudio } from "../../studio-mode.ts";
import { Button, Duration, EmptyState, ListState, StatusBadge, Time, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type AgentServer,
  type Assistant,
  apiOf,
  type Run,
  type ThreadState,
  threadKey,
  threadPath,
} from "./agent-api.ts";
import { startRun } from "./start-run.ts";
import type { ThreadAddress } from "./use-thread-address.ts";

export type RunsPanelProps = {
  server: AgentServer;
  address: ThreadAddress;
  runs: UseQueryResult<Run[]>;
  assistants: readonly Assistant[];
};

export function RunsPanel({ server, address, runs, assistants }: RunsPanelProps) {
  const mayRun = useCan("editor");
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
        <ul className="thread-runs">
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
              <div className="row">
                {mayRun && isOver(run) && <RunAgain server={server} run={run} address={address} />}
                {!isStudio && <TraceButton run={run} />}
              </div>
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

/** From where the run began, with the same assistant; what came out then stays, as a branch of its own. */
function RunAgain({ server, run, address }: { server: AgentServer; run: Run; address: ThreadAddress }) {
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: async () => {
      const states = await apiOf(server).post<ThreadState[]>(`${threadPath(server, run.thread_id)}/history`, {
        limit: 1000,
        metadata: { run_id: run.run_id },
      });
      const first = states.at(-1)?.checkpoint;
      if (!first) throw new ApiError(404, "This run left no checkpoint, so there is nothing to start from.");
      await startRun(server, run.thread_id, {
        assistant_id: run.assistant_id,
        input: null,
        checkpoint_id: first.checkpoint_id,
        stops: address.stops,
      });
    },
    onSuccess: async () => {
      address.go({ checkpoint: null });
      await client.invalidateQueries({ queryKey: threadKey(server, run.thread_id) });
    },
    onError: (error) => toast.bad(error),
  });
  return (
    <Button size="small" look="quiet" icon={RotateCcw} busy={again.isPending} onClick={() => again.mutate()}>
      Run again
    </Button>
  );
}

const isNotThere = (error: unknown) => error instanceof ApiError && error.status === 404;

/** The trace of a run has the run's own id. It arrives shortly after the run has ended. */
function TraceButton({ run }: { run: Run }) {
  const [, navigate] = useLocation();
  const open = useMutation({
    mutationFn: () => api.get<TraceRun>(`/api/v1/runs/${run.run_id}`),
    retry: (failures, error) =>
      isNotThere(error) && failures < 20 && isOver(run) && Date.now() - Date.parse(run.updated_at) < 60_000,
    retryDelay: 500,
    onSuccess: ({ app_path }) => navigate(app_path),
    onError: (error) =>
      toast.bad(
        isNotThere(error) ? "This run has no trace: it has not ended yet, or it was not traced." : error,
      ),
  });
  return (
    <Button size="small" look="quiet" icon={Waypoints} busy={open.isPending} onClick={() => open.mutate()}>
      Trace
    </Button>
  );
}
