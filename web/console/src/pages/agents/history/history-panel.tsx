import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { Badge, Button, EmptyState, ErrorLine, ListState, ShowMore, Time } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { type AgentServer, type ThreadState, threadKey, useHistory, useRuns } from "../agent-api.ts";
import { startRun } from "../start-run.ts";
import type { ThreadAddress } from "../use-thread-address.ts";
import { BranchLines, linesWidth } from "./branch-lines.tsx";
import { branchRows, type TreeItem } from "./branch-tree.ts";
import { StepDiff } from "./step-diff.tsx";
import "./history.css";

export type HistoryPanelProps = {
  server: AgentServer;
  threadId: string;
  busy: boolean;
  address: ThreadAddress;
};

/** The checkpoints of the thread, newest first. Each can be looked at, and run again from. */
export function HistoryPanel({ server, threadId, busy, address }: HistoryPanelProps) {
  const at = address.checkpointId;
  const found = useHistory(server, threadId);
  const runs = useRuns(server, threadId);
  const client = useQueryClient();
  const mayRun = useCan("editor");
  const replay = useMutation({
    mutationFn: (checkpointId: string) =>
      startRun(server, threadId, {
        assistant_id: runs.data?.[0]?.assistant_id,
        input: null,
        checkpoint_id: checkpointId,
        stops: address.stops,
      }),
    onSuccess: async () => {
      address.go({ checkpoint: null });
      await client.invalidateQueries({ queryKey: threadKey(server, threadId) });
    },
  });
  const states = found.data?.pages.flat();
  // While more steps follow, the newest is a checkpoint as the others: the link must not lead to the one after it.
  const moves = busy || found.isFetching;
  const tree = useMemo(() => branchRows((states ?? []).map(treeItem)), [states]);
  return (
    <ListState
      of={found}
      rows={states}
      lines={4}
      height="2.6rem"
      empty={<EmptyState title="No history yet">Each step of a run leaves a checkpoint here.</EmptyState>}
    >
      {(states) => (
        <>
          <ErrorLine error={replay.error} />
          <ol className="checkpoints">
            {states.map((state, index) => {
              const id = state.checkpoint.checkpoint_id;
              const isHead = index === 0 && !(moves && state.next.length > 0);
              const shown = at === null ? index === 0 : at === id;
              return (
                <li
                  key={id}
                  aria-current={shown ? "step" : undefined}
                  style={{ paddingLeft: linesWidth(tree.lanes) + 6 }}
                >
                  <BranchLines row={tree.rows[index]!} lanes={tree.lanes} current={shown} />
                  <Link href={address.hrefWith({ checkpoint: isHead ? null : id })}>
                    <b>{stepName(state, states[index - 1])}</b>
                    {tree.rows[index]!.tip && index > 0 && <Badge>end of a branch</Badge>}
                    <span className="muted">
                      {state.created_at && <Time at={state.created_at} />}
                      {stepNumber(state)}
                    </span>
                  </Link>
                  {mayRun && shown && state.next.length > 0 && (
                    <Button
                      size="small"
                      icon={RotateCcw}
                      busy={replay.isPending}
                      onClick={() => replay.mutate(id)}
                      title="Runs the steps after this checkpoint again"
                    >
                      Replay from here
                    </Button>
                  )}
                  {shown && <StepDiff server={server} threadId={threadId} state={state} />}
                </li>
              );
            })}
          </ol>
          <ShowMore of={found} words="Show earlier" />
        </>
      )}
    </ListState>
  );
}

function treeItem({ checkpoint, parent_checkpoint: parent }: ThreadState): TreeItem {
  return { id: checkpoint.checkpoint_id, parent: parent?.checkpoint_id ?? null };
}

function stepName({ next, tasks, metadata }: ThreadState, newer: ThreadState | undefined): string {
  if (tasks.some(({ interrupts }) => interrupts.length > 0)) return `Waits in ${nodes(next)}`;
  if (metadata?.source === "update") return "Changed by hand";
  if (metadata?.source === "fork") return "Forked";
  // What follows in a graph that another assistant has left behind is not known to the present one.
  if (next.length === 0) return !newer || newer.metadata?.source === "input" ? "Done" : "Step";
  return next.includes("__start__") ? "Input" : `Before ${nodes(next)}`;
}

/** A node that runs several times at once is named once: `tools ×3`. */
function nodes(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ");
}

function stepNumber({ metadata }: ThreadState): string {
  const { step, graph_id: graph } = metadata ?? {};
  const words = [typeof graph === "string" && graph, typeof step === "number" && step >= 0 && `step ${step}`];
  return words
    .filter(Boolean)
    .map((word) => ` · ${word}`)
    .join("");
}
