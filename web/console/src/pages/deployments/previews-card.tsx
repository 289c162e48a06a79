import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Card, Checkbox, ErrorLine, toast } from "../../ui/index.ts";
import { type Deployment, deploymentPath } from "./deployment-api.ts";

/** A deployment for each pull request. */
export function PreviewsCard({ deployment }: { deployment: Deployment }) {
  const client = useQueryClient();
  const { previews, source_config: config } = deployment;
  const save = useMutation({
    mutationFn: (settings: Deployment["previews"]) =>
      api.put<Deployment>(`${deploymentPath(deployment.id)}/previews`, settings),
    onSuccess: ({ previews: now }) => {
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(now.enabled ? "Pull requests get previews." : "Pull requests get no previews.");
    },
  });
  if (deployment.is_preview)
    return (
      <Card className="stack">
        <h2>Preview</h2>
        <p className="muted">
          Made for pull request {deployment.preview_number}. It is removed when the pull request is closed, or
          after 14 days without a push.
        </p>
      </Card>
    );
  const possible = config.repo_url !== null && config.integration_id !== null;
  return (
    <Card className="stack">
      <div>
        <h2>Previews</h2>
        <p className="muted">
          {possible
            ? "Each pull request of the repository gets a deployment of its own, which is removed with it. Set the event “pull requests” at the webhook of your git host. Forks get none."
            : "They need a deployment from a repository with a git integration: its webhook reports pull requests."}
        </p>
      </div>
      <Checkbox
        label="A deployment for each pull request"
        disabled={!possible || save.isPending}
        checked={previews.enabled}
        onChange={({ target }) => save.mutate({ ...previews, enabled: target.checked })}
      />
      <Checkbox
        label="Previews get this deployment's secrets"
        hint="Whoever may push a branch can then read them."
        disabled={!possible || !previews.enabled || save.isPending}
        checked={previews.share_secrets}
        onChange={({ target }) => save.mutate({ ...previews, share_secrets: target.checked })}
      />
      <ErrorLine error={save.error} />
    </Card>
  );
}
