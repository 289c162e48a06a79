import { FolderUp, Settings } from "lucide-react";
import { ButtonLink } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import type { Deployment, Revision } from "./deployment-api.ts";
import { NewRevisionButton } from "./new-revision-button.tsx";

/** What to do about the newest revision, which failed: change the code, change its settings, or the same again. */
export function FailureSteps({ deployment, revision }: { deployment: Deployment; revision: Revision }) {
  const mayChange = useCan("editor");
  if (!mayChange || deployment.latest_revision_id !== revision.id) return null;
  const { repo_ref: ref, source_tarball_path: archive, image_uri: image } = revision.source_revision_config;
  return (
    <div className="stack failure-steps">
      <p>
        {image ? (
          <>Push the image again, or change its secrets in the settings.</>
        ) : archive === null ? (
          <>
            Push a change to {ref ? <code>{ref}</code> : "the repository"} and try again, or change its
            secrets and commands in the settings.
          </>
        ) : (
          <>
            Upload the changed folder, here or with <code>treadle deploy --name {deployment.name}</code>, or
            change its secrets and commands in the settings.
          </>
        )}
      </p>
      <div className="row">
        {archive !== null && (
          <ButtonLink href={`/deployments/${deployment.id}/upload`} look="primary" icon={FolderUp}>
            Upload changes
          </ButtonLink>
        )}
        <NewRevisionButton deploymentId={deployment.id} look={archive === null ? "primary" : "plain"}>
          Try again
        </NewRevisionButton>
        <ButtonLink href={`/deployments/${deployment.id}?tab=settings`} icon={Settings}>
          Change the settings
        </ButtonLink>
      </div>
    </div>
  );
}
