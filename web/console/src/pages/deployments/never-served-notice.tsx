import { Hourglass } from "lucide-react";
import { Link } from "wouter";
import { useCan } from "../../workspace.tsx";
import { type Deployment, isOpen, isUploaded, neverServed, type Revision } from "./deployment-api.ts";

/** Instead of ways to its server, which would fail: what has to happen first. */
export function NeverServedNotice({
  deployment,
  latest,
}: {
  deployment: Deployment;
  latest: Revision | undefined;
}) {
  const mayChange = useCan("editor");
  // Stopped is another matter, and has its own notice.
  if (!neverServed(deployment) || deployment.desired_state === "stopped") return null;
  // Until it is known what became of its revision, nothing true can be said.
  if (deployment.latest_revision_id !== null && latest === undefined) return null;
  return (
    <div className="notice" role="status">
      <Hourglass aria-hidden="true" size={18} />
      <div>
        <b>It has never served.</b>
        <p>
          <NextStep {...{ deployment, latest, mayChange }} />
        </p>
      </div>
    </div>
  );
}

function NextStep({
  deployment,
  latest,
  mayChange,
}: {
  deployment: Deployment;
  latest: Revision | undefined;
  mayChange: boolean;
}) {
  const upload = (
    <Link href={`/deployments/${deployment.id}/upload`}>
      {latest ? "upload the changed folder" : "Upload its folder"}
    </Link>
  );
  if (latest && isOpen(latest.status))
    return <>The chat, the studio and its address can be used when revision {latest.number} serves.</>;
  if (!mayChange) return <>Someone with the role editor has to deploy it first.</>;
  if (!latest)
    return isUploaded(deployment) ? <>{upload}: that is its first revision.</> : <>Create a revision.</>;
  const failed = (
    <Link href={`/deployments/${deployment.id}/revisions/${latest.id}`}>
      See why revision {latest.number} failed
    </Link>
  );
  if (!latest.status.endsWith("FAILED"))
    return <>Revision {latest.number} was not finished. Create a new one.</>;
  return isUploaded(deployment) ? (
    <>
      {failed}, then {upload}.
    </>
  ) : (
    <>{failed}, correct that, then create a new revision.</>
  );
}
