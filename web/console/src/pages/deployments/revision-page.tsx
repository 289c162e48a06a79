import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleStop, RotateCcw } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearch } from "wouter";
import { api } from "../../api/client.ts";
import {
  Button,
  Card,
  ConfirmDialog,
  ErrorState,
  Facts,
  Page,
  PageHeader,
  Progress,
  Skeleton,
  StatusBadge,
  Tabs,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type Deployment,
  deploymentPath,
  isOpen,
  isReachable,
  type Revision,
  useDeployment,
  useRevision,
} from "./deployment-api.ts";
import { failedLog, failureHref } from "./failing-line.ts";
import { FailureCard } from "./failure-card.tsx";
import { FailureSteps } from "./failure-steps.tsx";
import { LogPanel } from "./log-panel.tsx";
import { PhaseBar, Timeline } from "./revision-timeline.tsx";
import { Commit } from "./source-text.tsx";
import { TryIt } from "./try-it.tsx";

export function RevisionPage({ deploymentId, revisionId }: { deploymentId: string; revisionId: string }) {
  const deployment = useDeployment(deploymentId);
  const revision = useRevision(deploymentId, revisionId);
  const error = deployment.error ?? revision.error;
  if (error && (!deployment.data || !revision.data)) {
    return (
      <Page title="Revision">
        <PageHeader title="Revision" crumbs={[{ label: "Deployments", href: "/deployments" }]} />
        <ErrorState error={error} retry={() => Promise.all([deployment.refetch(), revision.refetch()])} />
      </Page>
    );
  }
  if (!deployment.data || !revision.data) {
    return (
      <Page title="Revision">
        <Skeleton lines={1} height="3.4rem" />
        <Skeleton lines={1} height="6rem" />
        <Skeleton lines={1} height="20rem" />
      </Page>
    );
  }
  return <Loaded deployment={deployment.data} revision={revision.data} />;
}

function Loaded({ deployment, revision }: { deployment: Deployment; revision: Revision }) {
  const open = isOpen(revision.status);
  const here = `/deployments/${deployment.id}/revisions/${revision.id}`;
  const asked = new URLSearchParams(useSearch());
  const [timesShown, setTimesShown] = useState(0);
  const tabs = ["build", "server", "timeline"] as const;
  const current = tabs.find((tab) => tab === asked.get("tab")) ?? failedLog(revision);
  const place = {
    ...{ deploymentId: deployment.id, revisionId: revision.id },
    line: asked.get("line"),
    timesShown,
    failure: revision.failure,
    lineHref: (id: string) => `${here}?tab=${current}&line=${id}`,
  };
  const name = deployment.display_name ?? deployment.name;
  return (
    <Page title={`Revision ${revision.number} of ${name}`}>
      <PageHeader
        title={`Revision ${revision.number}`}
        crumbs={[
          { label: "Deployments", href: "/deployments" },
          { label: name, href: `/deployments/${deployment.id}` },
        ]}
        badge={<StatusBadge status={revision.status} />}
        actions={<RevisionActions deployment={deployment} revision={revision} />}
      />
      {revision.failure && (
        <FailureCard
          failure={revision.failure}
          told={revision.status_message}
          logHref={failureHref(deployment.id, revision)}
          onShow={() => setTimesShown((times) => times + 1)}
        >
          <FailureSteps deployment={deployment} revision={revision} />
        </FailureCard>
      )}
      <Card className="stack">
        <PhaseBar revision={revision} />
        {open && <Progress label="Progress of the revision" value={revision.progress / 100} />}
        {revision.status_message && !revision.failure && (
          <p className={/FAILED/.test(revision.status) ? "revision-message bad" : "revision-message"}>
            {revision.status_message}
          </p>
        )}
        {/FAILED/.test(revision.status) && !revision.failure && (
          <FailureSteps deployment={deployment} revision={revision} />
        )}
        <Facts
          items={[
            ["Created", <Time key="t" at={revision.created_at} />],
            ["Server ended by itself", exitsText(revision)],
            ["Branch, tag or commit", revision.source_revision_config.repo_ref ?? "–"],
            ["Commit", <Commit key="c" sha={revision.source_revision_config.repo_commit_sha} />],
            ...(revision.image ? [["Image", imageText(revision.image)] as const] : []),
            ...(revision.redeploy_of
              ? [["Made from", "an earlier revision, without building again"] as const]
              : []),
          ]}
        />
      </Card>
      {deployment.active_revision_id === revision.id && isReachable(deployment) && (
        <TryIt deployment={deployment} />
      )}
      <Tabs
        label="Parts of the revision"
        current={current}
        tabs={[
          { id: "build", label: "Build log", href: `${here}?tab=build` },
          { id: "server", label: "Server log", href: `${here}?tab=server` },
          { id: "timeline", label: "Timeline", href: `${here}?tab=timeline` },
        ]}
      />
      {current === "build" && (
        <LogPanel
          label="Build log"
          {...place}
          type="build"
          live={open}
          fileName={`${deployment.name}-${revision.number}-build.log`}
          empty={
            revision.redeploy_of
              ? "This revision was created from an earlier one; nothing was built."
              : "Nothing was written yet."
          }
        />
      )}
      {current === "server" && (
        <LogPanel
          label="Server log"
          {...place}
          type="deploy"
          live={open || deployment.active_revision_id === revision.id}
          fileName={`${deployment.name}-${revision.number}-server.log`}
          empty="The server of this revision wrote nothing yet."
        />
      )}
      {current === "timeline" && (
        <Card>
          <Timeline revision={revision} />
        </Card>
      )}
    </Page>
  );
}

function RevisionActions({ deployment, revision }: { deployment: Deployment; revision: Revision }) {
  const mayChange = useCan("editor");
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const stop = useMutation({
    mutationFn: () =>
      api.post<Revision>(`${deploymentPath(deployment.id)}/revisions/${revision.id}/interruption`),
    onSuccess: () => {
      toast.good(`Revision ${revision.number} is stopped.`);
      return client.invalidateQueries({ queryKey: ["deployments"] });
    },
    onError: (error) => toast.bad(error),
  });
  if (!mayChange) return null;
  if (isOpen(revision.status)) {
    return (
      <Button look="danger" icon={CircleStop} busy={stop.isPending} onClick={() => stop.mutate()}>
        Stop it
      </Button>
    );
  }
  if (revision.status !== "DEPLOYED" || deployment.active_revision_id === revision.id) return null;
  return (
    <>
      <Button icon={RotateCcw} onClick={() => setAsking(true)}>
        Roll back to this
      </Button>
      {asking && (
        <RollBackDialog deployment={deployment} revision={revision} onClose={() => setAsking(false)} />
      )}
    </>
  );
}

/** The same dialog here and in the list of revisions. */
export function RollBackDialog({
  deployment,
  revision,
  onClose,
}: {
  deployment: Deployment;
  revision: Revision;
  onClose(): void;
}) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDialog
      title={`Roll back to revision ${revision.number}?`}
      action="Roll back"
      danger={false}
      onClose={onClose}
      onConfirm={async () => {
        const made = await api.post<Deployment>(
          `${deploymentPath(deployment.id)}/revisions/${revision.id}/redeploy`,
        );
        await client.invalidateQueries({ queryKey: ["deployments"] });
        toast.good(`Revision ${revision.number} is being deployed again.`);
        onClose();
        navigate(`/deployments/${deployment.id}/revisions/${made.latest_revision_id}`);
      }}
    >
      A new revision is created with its source, commit and secrets. Nothing is built again, and the current
      revision serves until the new one is ready.
    </ConfirmDialog>
  );
}

/** By content: the name may mean another one by now. */
function imageText({ reference, digest }: NonNullable<Revision["image"]>) {
  return (
    <span title={digest}>
      {reference} <code>{digest.replace(/^sha256:/, "").slice(0, 12)}</code>
    </span>
  );
}

function exitsText({ restarts, last_exit: last }: Revision) {
  if (!last) return "never";
  return (
    <span>
      {restarts === 1 ? "once" : `${restarts} times`}, last <Time at={last.at} />: {last.reason}
    </span>
  );
}
