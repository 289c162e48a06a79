import { CircleAlert, FolderUp, Waypoints } from "lucide-react";
import { lazy, Suspense } from "react";
import { Link, useSearch } from "wouter";
import {
  ButtonLink,
  Card,
  CopyButton,
  ErrorState,
  Facts,
  Page,
  PageHeader,
  Progress,
  Section,
  Skeleton,
  StatusBadge,
  Tabs,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import {
  type Deployment,
  isAtRest,
  isOpen,
  isReachable,
  isUploaded,
  neverServed,
  type Revision,
  useDeployment,
  useLatestRevisions,
} from "./deployment-api.ts";
import { failureHref } from "./failing-line.ts";
import { FailureLine } from "./failure-card.tsx";
import { LogPanel } from "./log-panel.tsx";
import { NeverServedNotice } from "./never-served-notice.tsx";
import { NewRevisionButton } from "./new-revision-button.tsx";
import { AsleepNotice, PowerButtons, StoppedNotice } from "./power-buttons.tsx";
import { PhaseBar } from "./revision-timeline.tsx";
import { RevisionsTab } from "./revisions-tab.tsx";
import { RunsOn } from "./runs-on.tsx";
import { SettingsTab } from "./settings-tab.tsx";
import { Commit, SourceText } from "./source-text.tsx";
import { DeploymentBadge } from "./state-badge.tsx";
import { TryIt } from "./try-it.tsx";
import { UseIt } from "./use-it.tsx";

const MetricsTab = lazy(() => import("./metrics-tab.tsx"));

const tabs = [
  ["overview", "Overview"],
  ["revisions", "Revisions"],
  ["logs", "Server log"],
  ["metrics", "Metrics"],
  ["settings", "Settings"],
] as const;

export function DetailPage({ id }: { id: string }) {
  const found = useDeployment(id);
  if (found.error && !found.data) {
    return (
      <Page title="Deployment">
        <PageHeader title="Deployment" crumbs={[{ label: "Deployments", href: "/deployments" }]} />
        <ErrorState error={found.error} retry={() => found.refetch()} />
      </Page>
    );
  }
  if (!found.data) {
    return (
      <Page title="Deployment">
        <Skeleton lines={1} height="3.4rem" />
        <Skeleton lines={1} height="2.4rem" />
        <Skeleton lines={1} height="12rem" />
      </Page>
    );
  }
  return <Loaded deployment={found.data} />;
}

function Loaded({ deployment }: { deployment: Deployment }) {
  const latest = useLatestRevisions([deployment]).get(deployment.id);
  const wanted = new URLSearchParams(useSearch()).get("tab");
  const current = tabs.find(([id]) => id === wanted)?.[0] ?? "overview";
  const here = `/deployments/${deployment.id}`;
  const name = deployment.display_name ?? deployment.name;
  return (
    <Page title={name}>
      <PageHeader
        title={name}
        crumbs={[{ label: "Deployments", href: "/deployments" }]}
        badge={<DeploymentBadge deployment={deployment} latest={latest} />}
        actions={<Actions deployment={deployment} />}
      />
      <Tabs
        label="Parts of the deployment"
        current={current}
        tabs={tabs.map(([id, label]) => ({
          id,
          label,
          href: id === "overview" ? here : `${here}?tab=${id}`,
        }))}
      />
      {current === "overview" && <Overview deployment={deployment} latest={latest} />}
      {current === "revisions" && <RevisionsTab deployment={deployment} />}
      {current === "logs" && (
        <LogPanel
          label="Server log"
          deploymentId={deployment.id}
          type="deploy"
          live
          fileName={`${deployment.name}-server.log`}
          empty="No server of this deployment has written anything yet."
        />
      )}
      {current === "metrics" && (
        <Suspense fallback={<Skeleton lines={2} height="14rem" />}>
          <MetricsTab deployment={deployment} />
        </Suspense>
      )}
      {current === "settings" && <SettingsTab deployment={deployment} />}
    </Page>
  );
}

function Actions({ deployment }: { deployment: Deployment }) {
  const mayChange = useCan("editor");
  return (
    <>
      {deployment.tracer_session_id && (
        <ButtonLink href={`/traces/${deployment.tracer_session_id}`} icon={Waypoints}>
          Traces
        </ButtonLink>
      )}
      {mayChange && <PowerButtons deployment={deployment} />}
      {mayChange &&
        (isUploaded(deployment) ? (
          <ButtonLink href={`/deployments/${deployment.id}/upload`} look="primary" icon={FolderUp}>
            Upload changes
          </ButtonLink>
        ) : (
          <NewRevisionButton deploymentId={deployment.id}>New revision</NewRevisionButton>
        ))}
    </>
  );
}

const troubles: Readonly<Record<string, string>> = {
  unstable: "The server exited a short while ago.",
  restarting: "The server is being restarted.",
  crash_loop: "The server keeps crashing.",
  away: "Its listener does not report.",
};

function Overview({ deployment, latest }: { deployment: Deployment; latest: Revision | undefined }) {
  const { source_config: config, source_revision_config: revision, health } = deployment;
  const { url, page_url: pageUrl } = deployment;
  return (
    <>
      <StoppedNotice deployment={deployment} />
      <AsleepNotice deployment={deployment} />
      {troubles[health.state] && (
        <div className="notice bad" role="status">
          <CircleAlert aria-hidden="true" size={18} />
          <div>
            <b>{troubles[health.state]}</b>
            <p>{health.message ?? "See the server log."}</p>
            <Link href={`/deployments/${deployment.id}?tab=logs`}>Read the server log</Link>
          </div>
        </div>
      )}
      {latest && <LatestCard deployment={deployment} revision={latest} />}
      <NeverServedNotice deployment={deployment} latest={latest} />
      {/* Its server is asked for its graphs, which would wake it; one of a listener is not reached from here. */}
      {isReachable(deployment) && <TryIt deployment={deployment} />}
      <Card className="stack">
        <div className="row address">
          <span className="muted">Address</span>
          <code className="break">{url}</code>
          <CopyButton text={url} label="Copy the address" />
        </div>
        {/* Its pages are a stranger's: they open beside the console, at an origin that is not the console's. */}
        {pageUrl !== null && !neverServed(deployment) && (
          <div className="row address">
            <span className="muted">Pages</span>
            <a href={pageUrl} target="_blank" rel="noopener noreferrer" className="break">
              {pageUrl}
            </a>
            <a href={`${pageUrl}/docs`} target="_blank" rel="noopener noreferrer">
              API reference
            </a>
          </div>
        )}
        {deployment.domain_urls.length > 0 && (
          <div className="row address">
            <span className="muted">Domains</span>
            {deployment.domain_urls.map((address) =>
              neverServed(deployment) ? (
                <code key={address} className="break">
                  {address}
                </code>
              ) : (
                <a key={address} href={address} target="_blank" rel="noopener noreferrer" className="break">
                  {address}
                </a>
              ),
            )}
          </div>
        )}
        <Facts
          items={[
            ["Runs on", <RunsOn key="r" deployment={deployment} />],
            ["Source", <SourceText key="s" deployment={deployment} />],
            ["Commit", <Commit key="c" sha={revision.repo_commit_sha} />],
            ["Configuration file", revision.graph_config_path ?? "–"],
            ["Builds on push", config.build_on_push ? "yes" : "no"],
            [
              "Secrets",
              deployment.secrets.length === 0
                ? "none"
                : deployment.secrets.map(({ name }) => name).join(", "),
            ],
            ...(deployment.secret_references?.length
              ? [
                  [
                    "From Secrets of the cluster",
                    deployment.secret_references.map(({ name }) => name).join(", "),
                  ] as [string, string],
                ]
              : []),
            ["Serves since", <Time key="h" at={health.state === "serving" ? health.since : null} />],
            ["Created", <Time key="t" at={deployment.created_at} />],
          ]}
        />
      </Card>
      {!neverServed(deployment) && !isAtRest(deployment) && (
        <Section title="Use it from a program">
          <UseIt deployment={deployment} />
        </Section>
      )}
    </>
  );
}

/** A revision that does not serve: on its way, or failed. */
function LatestCard({ deployment, revision }: { deployment: Deployment; revision: Revision }) {
  const open = isOpen(revision.status);
  return (
    <Card className={open ? "stack" : "stack danger-card"}>
      <div className="row spread">
        <h2>
          <Link href={`/deployments/${deployment.id}/revisions/${revision.id}`}>
            Revision {revision.number}
          </Link>{" "}
          {open ? "is being deployed" : "failed"}
        </h2>
        <StatusBadge status={revision.status} />
      </div>
      <PhaseBar revision={revision} />
      {open && <Progress label="Progress of the revision" value={revision.progress / 100} />}
      {revision.failure ? (
        <FailureLine failure={revision.failure} logHref={failureHref(deployment.id, revision)} />
      ) : (
        revision.status_message && (
          <p className={open ? "revision-message" : "revision-message bad"}>{revision.status_message}</p>
        )
      )}
      {!open && (
        <Link href={`/deployments/${deployment.id}/revisions/${revision.id}`}>
          What it printed, and its logs
        </Link>
      )}
      {!open && deployment.active_revision_id !== null && (
        <p className="muted">The previous revision keeps serving.</p>
      )}
    </Card>
  );
}
