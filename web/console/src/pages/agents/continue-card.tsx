import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleStop, Play, StepForward } from "lucide-react";
import { Button, Card, ErrorLine } from "../../ui/index.ts";
import { type AgentServer, threadKey } from "./agent-api.ts";
import { type Stops, startRun } from "./start-run.ts";

export type ContinueCardProps = {
  server: AgentServer;
  threadId: string;
  next: readonly string[];
  assistantId: string | undefined;
  stops: Stops;
};

/** The thread stands between two nodes: at a breakpoint, after a stop, or because its state was changed by hand. */
export function ContinueCard({ server, threadId, next, assistantId, stops }: ContinueCardProps) {
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
        <CircleStop aria-hidden="true" size={16} /> Stopped before {[...new Set(next)].join(", ")}
      </h2>
      <div className="row">
        <Button look="primary" icon={Play} busy={go.isPending} onClick={() => go.mutate(false)}>
          Continue
        </Button>
        <Button icon={StepForward} disabled={go.isPending} onClick={() => go.mutate(true)}>
          One step
        </Button>
      </div>
      <ErrorLine error={go.error} />
    </Card>
  );
}
