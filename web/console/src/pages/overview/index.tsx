import { Cable, PackageOpen, Plus, Rocket, Server, Waypoints } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import {
  ButtonLink,
  Card,
  Duration,
  EmptyState,
  formatCount,
  formatDuration,
  ListState,
  Page,
  PageHeader,
  Section,
  Skeleton,
  StatusBadge,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan, useWorkspace } from "../../workspace.tsx";
import { stateOf, useLatestRevisions } from "../deployments/deployment-api.ts";
import { DeploymentBadge } from "../deployments/state-badge.tsx";
import { recentActivity } from "./activity.ts";
import { FirstSteps } from "./first-steps.tsx";
import { type TraceRun, useOverview } from "./overview-api.ts";
import { Tile, type TileTone } from "./tile.tsx";
import "./overview.css";

type Overview = ReturnType<typeof useOverview>;

export default function OverviewPage() {
  const overview = useOverview();
  const { deployments, traces, exports } = overview;
  const rows = deployments.data?.resources ?? [];
  const latest = useLatestRevisions(rows);
  const { current } = useWorkspace();
  const mayCreate = useCan("editor");
  const loading = deployments.isPending || traces.isPending || exports.isPending;
  useEffect(() => {
    if (!loading) performance.mark("treadle.overview");
  }, [loading]);
  const empty = !loading && rows.length === 0 && traces.data?.runs.length === 0 && exports.data?.length === 0;
  return (
    <Page title="Overview">
      <PageHeader
        title="Overview"
        description={`The state of ${current.name}.`}
        actions={
          mayCreate && (
            <ButtonLink href="/deployments/new" icon={Plus} look="primary">
              New deployment
            </ButtonLink>
          )
        }
      />
      <Tiles overview={overview} latest={latest} />
      {empty ? (
        <FirstSteps />
      ) : (
        <div className="overview-columns">
          <div className="stack overview-wide">
            <Section title="Recent activity">
              <ActivityList overview={overview} latest={latest} />
            </Section>
            <Section title="Last traces" actions={<Link href="/traces">All traces</Link>}>
              <Traces query={traces} />
            </Section>
          </div>
          <Section title="Deployments" actions={<Link href="/deployments">All deployments</Link>}>
            <DeploymentHealth query={deployments} latest={latest} />
          </Section>
        </div>
      )}
    </Page>
  );
}

function Tiles({ overview, latest }: { overview: Overview; latest: ReturnType<typeof useLatestRevisions> }) {
  const { deployments, stats, exports, connections, server } = overview;
  const rows = deployments.data?.resources ?? [];
  const states = rows.map((row) => stateOf(row, latest.get(row.id)));
  const bad = states.filter((state) => /FAILED|crash_loop|away/.test(state)).length;
  const serving = rows.filter(({ active_revision_id }) => active_revision_id !== null).length;
  const running =
    exports.data?.filter(({ status }) => status === "RUNNING" || status === "CREATED").length ?? 0;
  const failedExports =
    exports.data?.filter(({ status }) => status === "FAILED" || status === "TIMEDOUT").length ?? 0;
  const dead = connections.data?.filter(({ status }) => status === "dead").length ?? 0;
  const errorRate = stats.data?.error_rate ?? 0;
  return (
    <div className="tiles">
      <Tile
        icon={Server}
        label="Server"
        href="/settings"
        query={server}
        value={server.data ? "Healthy" : "–"}
        note={server.data ? `Treadle ${server.data.version}, database answers` : ""}
        tone="good"
      />
      <Tile
        icon={Rocket}
        label="Deployments"
        href="/deployments"
        query={deployments}
        value={rows.length === 0 ? "None" : `${serving} of ${rows.length} serving`}
        note={
          bad > 0
            ? `${bad} ${bad === 1 ? "needs" : "need"} you`
            : rows.length === 0
              ? "deploy an agent"
              : serving < rows.length
                ? `${rows.length - serving} not deployed yet`
                : "all is well"
        }
        tone={tone(bad > 0, rows.length > 0)}
      />
      <Tile
        icon={Waypoints}
        label="Traces, last day"
        href="/traces"
        query={stats}
        value={stats.data ? formatCount(stats.data.run_count) : "–"}
        note={
          !stats.data || stats.data.run_count === 0
            ? "nothing was traced"
            : `${(errorRate * 100).toFixed(errorRate > 0 && errorRate < 0.1 ? 1 : 0)} % errors, median ${formatDuration((stats.data.latency_p50 ?? 0) * 1_000)}`
        }
        tone={tone(errorRate >= 0.05, (stats.data?.run_count ?? 0) > 0)}
      />
      <Tile
        icon={PackageOpen}
        label="Exports"
        href="/exports"
        query={exports}
        value={running > 0 ? `${running} running` : exports.data?.length ? "Idle" : "None"}
        note={
          failedExports > 0
            ? `${failedExports} of the last ten failed`
            : exports.data?.length
              ? "the last ones completed"
              : "send traces to a bucket"
        }
        tone={tone(failedExports > 0, (exports.data?.length ?? 0) > 0)}
      />
      <Tile
        icon={Cable}
        label="Connections"
        href="/connections"
        query={connections}
        value={
          connections.data?.length
            ? `${connections.data.length} ${connections.data.length === 1 ? "account" : "accounts"}`
            : "None"
        }
        note={
          dead > 0
            ? `${dead} must reconnect`
            : connections.data?.length
              ? "all are alive"
              : "let agents act for you"
        }
        tone={tone(dead > 0, (connections.data?.length ?? 0) > 0)}
      />
    </div>
  );
}

function tone(bad: boolean, used: boolean): TileTone {
  if (bad) return "bad";
  return used ? "good" : "quiet";
}

function ActivityList({
  overview,
  latest,
}: {
  overview: Overview;
  latest: ReturnType<typeof useLatestRevisions>;
}) {
  const { deployments, failures, exports } = overview;
  if (deployments.isPending || failures.isPending || exports.isPending) return <Skeleton lines={4} />;
  const items = recentActivity({
    deployments: deployments.data?.resources ?? [],
    latest,
    failures: failures.data?.runs ?? [],
    exports: exports.data ?? [],
  });
  if (items.length === 0) {
    return (
      <EmptyState title="It has been quiet">Revisions, failed runs and exports show up here.</EmptyState>
    );
  }
  return (
    <Card className="activity-card">
      <ul className="activity">
        {items.map(({ key, at, kind, title, note, status, href }) => (
          <li key={key}>
            <Link href={href}>
              <span className="activity-text">
                <span>
                  <b>{title}</b> <span className="muted small">{kind}</span>
                </span>
                {note && <span className="activity-note">{note}</span>}
              </span>
              <StatusBadge status={status} />
              <Time at={at} />
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Traces({ query }: { query: Overview["traces"] }): ReactNode {
  return (
    <ListState
      of={query}
      rows={query.data?.runs}
      lines={4}
      empty={
        <EmptyState title="No traces yet">
          Every run of an agent shows up here, and every trace you send with an SDK.
        </EmptyState>
      }
    >
      {(runs) => (
        <Table
          label="Last traces"
          rows={runs}
          rowKey={({ id }) => id}
          href={({ app_path }) => app_path}
          columns={[
            {
              key: "name",
              header: "Run",
              grow: true,
              cell: (run: TraceRun) => <Link href={run.app_path}>{run.name}</Link>,
            },
            { key: "status", header: "Status", cell: (run) => <StatusBadge status={run.status} /> },
            {
              key: "took",
              header: "Took",
              align: "right",
              cell: (run) => <Duration since={run.start_time} until={run.end_time} />,
            },
            { key: "at", header: "Started", align: "right", cell: (run) => <Time at={run.start_time} /> },
          ]}
        />
      )}
    </ListState>
  );
}

function DeploymentHealth({
  query,
  latest,
}: {
  query: Overview["deployments"];
  latest: ReturnType<typeof useLatestRevisions>;
}) {
  return (
    <ListState
      of={query}
      rows={query.data?.resources.slice(0, 12)}
      lines={4}
      empty={<EmptyState title="Nothing is deployed">Deploy an agent from git to see it here.</EmptyState>}
    >
      {(rows) => (
        <Card className="activity-card">
          <ul className="activity">
            {rows.map((row) => (
              <li key={row.id}>
                <Link href={`/deployments/${row.id}`}>
                  <span className="activity-text">
                    <b>{row.display_name ?? row.name}</b>
                  </span>
                  <DeploymentBadge deployment={row} latest={latest.get(row.id)} />
                </Link>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </ListState>
  );
}
