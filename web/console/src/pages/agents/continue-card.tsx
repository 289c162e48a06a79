import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleStop, Play, RotateCcw, StepForward } from "lucide-react";
import { Button, Card, ErrorLine } from "../../ui/index.ts";
import { type AgentServer, threadKey } from "./agent-api.ts";
import { type Stops, startRun } from "./start-run.ts";

export type ContinueCardProps = {
  server: AgentServer;
  threadId: string;
  next: readonly string[];
  /** The node that failed when it was tried last. */
  failed: string | undefined;
  assistantId: string | undefined;
  stops: Stops;
};

/** The thread stands between two nodes: at a breakpoint, after a stop or a failure, or because its state was changed by hand. */
export function ContinueCard({ server, threadId, next, failed, assistantId, stops }: ContinueCardProps) {
  const client = useQueryClient();
  const go = useMutation({
    mutationFn: (one: boolean) =>
      startRun(server, threadId, {
        assistant_id: assistantId,
        input: null,
        stops: one ? { before: [], after: "*" } : stops,
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: threadKey(server, threadId) }),
  });
  return (
    <Card className="interrupt">
      <h2>
        <CircleStop aria-hidden="true" size={16} />
        {failed === undefined ? `Stopped before ${[...new Set(next)].join(", ")}` : `${failed} failed`}
      </h2>
      <div className="row">
        <Button
          look="primary"
          icon={failed === undefined ? Play : RotateCcw}
          busy={go.isPending}
          onClick={() => go.mutate(false)}
        >
          {failed === undefined ? "Continue" : "Try again"}
        </Button>
        <Button icon={StepForward} disabled={go.isPending} onClick={() => go.mutate(true)}>
          One step
        </Button>
      </div>
      <ErrorLine error={go.error} />
    </Card>
  );
}
