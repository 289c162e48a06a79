import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import { Card, Checkbox, ErrorLine, toast } from "../../ui/index.ts";
import {
  type Deployment,
  deploymentPath,
  useDeployment,
  useLatestRevisions,
  usePreviews,
} from "./deployment-api.ts";
import { DeploymentBadge } from "./state-badge.tsx";

/** A deployment for each pull request. */
export function PreviewsCard({ deployment }: { deployment: Deployment }) {
  const client = useQueryClient();
  const { source_config: config } = deployment;
  const save = useMutation({
    mutationFn: (settings: Deployment["previews"]) =>
      api.put<Deployment>(`${deploymentPath(deployment.id)}/previews`, settings),
    onSuccess: (changed) => {
      const now = changed.previews;
      client.setQueryData(["deployments", deployment.id], changed);
      void client.invalidateQueries({ queryKey: ["deployments"] });
      toast.good(now.enabled ? "Pull requests get previews." : "Pull requests get no previews.");
    },
  });
  // What was clicked is shown at once.
  const previews = save.isPending ? save.variables : deployment.previews;
  if (deployment.is_preview) return <PreviewCard preview={deployment} />;
  const possible = config.repo_url !== null && config.integration_id !== null;
  return (
    <Card className="stack">
      <div>
        <h2>Previews</h2>
        <p className="muted">
          {possible
            ? "Each pull request of the repository gets a deployment of its own, which is removed with it. Forks get none. Pull requests are found within a minute or so; with the event “pull requests” (GitLab: “merge requests”) at the webhook of your git host, at once."
            : "They need a deployment from a repository with a git integration, which finds its pull requests."}
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
        hint="Everyone who can push a branch can then read them."
        disabled={!possible || !previews.enabled || save.isPending}
        checked={previews.share_secrets}
        onChange={({ target }) => save.mutate({ ...previews, share_secrets: target.checked })}
      />
      <ErrorLine error={save.error} />
      {previews.enabled && <PreviewList deployment={deployment} />}
    </Card>
  );
}

function PreviewList({ deployment }: { deployment: Deployment }) {
  const previews = usePreviews(deployment);
  const latest = useLatestRevisions(previews.data ?? []);
  if (previews.error) return <ErrorLine error={previews.error} />;
  if (!previews.data) return null;
  if (previews.data.length === 0)
    return <p className="muted">No pull request has a preview now. A deployment has ten at most.</p>;
  return (
    <ul className="preview-list" aria-label="Previews">
      {previews.data.map((each) => (
        <li key={each.id}>
          <Link href={`/deployments/${each.id}`}>Pull request {each.preview_number}</Link>
          <code className="muted">{each.source_revision_config.repo_ref}</code>
          <DeploymentBadge deployment={each} latest={latest.get(each.id)} />
        </li>
      ))}
    </ul>
  );
}

function PreviewCard({ preview }: { preview: Deployment }) {
  const parent = useDeployment(preview.preview_of!);
  return (
    <Card className="stack">
      <div>
        <h2>Preview</h2>
        <p className="muted">
          Made for pull request {preview.preview_number} of{" "}
          <Link href={`/deployments/${preview.preview_of}?tab=settings`}>
            {parent.data?.name ?? "its deployment"}
          </Link>
          . It is removed when the pull request is closed, or after 14 days without a change.
        </p>
      </div>
    </Card>
  );
}
