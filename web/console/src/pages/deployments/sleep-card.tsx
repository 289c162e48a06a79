import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Card, Checkbox, ErrorLine, toast } from "../../ui/index.ts";
import { type Deployment, deploymentPath } from "./deployment-api.ts";

/** Whether it sleeps while nobody uses it. This needs no new revision. */
export function SleepCard({ deployment }: { deployment: Deployment }) {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (sleeps: boolean) => {
      const spec = { ...deployment.source_config.resource_spec, min_scale: sleeps ? 0 : 1 };
      return api.patch<Deployment>(deploymentPath(deployment.id), { source_config: { resource_spec: spec } });
    },
    onSuccess: (changed) => {
      client.setQueryData(["deployments", deployment.id], changed);
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(changed.sleep.allowed ? "It sleeps while nobody uses it." : "It stays awake.");
    },
  });
  // Fewer servers would be another revision.
  const keeps = Number(deployment.source_config.resource_spec?.min_scale ?? 0);
  return (
    <Card className="stack">
      <div>
        <h2>Sleep</h2>
        <p className="muted">
          While it sleeps, its server does not run. The next request, cron or delayed run wakes it; that
          request takes a few seconds longer. What the project keeps in memory is lost, and its own timers
          stop. An image of your own sleeps only when it is told to.
        </p>
      </div>
      <Checkbox
        label="Sleep while nobody uses it"
        disabled={save.isPending || keeps > 1}
        checked={save.isPending ? save.variables : deployment.sleep.allowed}
        onChange={({ target }) => save.mutate(target.checked)}
      />
      {keeps > 1 && <p className="muted">It keeps {keeps} servers (min_scale), so it does not sleep.</p>}
      <ErrorLine error={save.error} />
    </Card>
  );
}
