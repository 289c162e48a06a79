import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { resourcesOf } from "../../api/pages.ts";
import { ErrorState, Page, PageHeader, ShowMore, Skeleton, Table } from "../../ui/index.ts";
import {
  type Deployment,
  isReachable,
  neverServed,
  useDeployments,
  useLatestRevisions,
} from "../deployments/deployment-api.ts";
import { DeploymentBadge } from "../deployments/state-badge.tsx";
import { type AgentServer, apiOf, builtIn, serverOf } from "./agent-api.ts";

/** Every agent server one can talk to. */
export function ServersPage() {
  const found = useDeployments("");
  // What a listener runs is not reached from here.
  const all = resourcesOf(found.data) ?? [];
  const deployments = all.filter(({ source_config: { listener_id: listener } }) => listener === null);
  const latest = useLatestRevisions(deployments);
  const servers = [builtIn, ...deployments.map(serverOf)];
  return (
    <Page title="Agents">
      <PageHeader
        title="Agents"
        description="Talk to any assistant on any thread, look into its state, and go back in time."
      />
      <Table
        label="Agent servers"
        rows={servers}
        rowKey={({ id }) => id}
        href={hrefOf}
        columns={[
          {
            key: "name",
            header: "Name",
            grow: true,
            cell: (row: AgentServer) => <Link href={hrefOf(row)}>{row.name}</Link>,
          },
          {
            key: "address",
            header: "Address",
            wideOnly: true,
            cell: (row) => <code>{row.base || "/"}</code>,
          },
          { key: "threads", header: "Threads", align: "right", cell: (row) => <ThreadCount server={row} /> },
          {
            key: "state",
            header: "State",
            align: "right",
            cell: ({ deployment }) =>
              deployment ? (
                <Badge deployment={deployment} latest={latest} />
              ) : (
                <span className="muted nowrap">Always on</span>
              ),
          },
        ]}
      />
      {found.isPending && <Skeleton lines={2} height="3.2rem" />}
      {found.error && !found.data && <ErrorState error={found.error} retry={() => found.refetch()} />}
      <ShowMore of={found} />
    </Page>
  );
}

/** Nothing answers in the studio of one that has never served: its deployment says what to do. */
const hrefOf = ({ id, deployment }: AgentServer) =>
  deployment && neverServed(deployment) ? `/deployments/${id}` : `/agents/${id}`;

function Badge({
  deployment,
  latest,
}: {
  deployment: Deployment;
  latest: ReturnType<typeof useLatestRevisions>;
}) {
  return <DeploymentBadge deployment={deployment} latest={latest.get(deployment.id)} />;
}

function ThreadCount({ server }: { server: AgentServer }) {
  // One that sleeps is not woken for a number.
  const serves = server.deployment === null || isReachable(server.deployment);
  const count = useQuery({
    queryKey: ["threads", server.id, "count"],
    queryFn: ({ signal }) => apiOf(server).post<number>(`${server.base}/threads/count`, {}, { signal }),
    enabled: serves,
    retry: false,
  });
  if (count.data === undefined) return <span className="muted">–</span>;
  return <span className="number">{count.data.toLocaleString("en-US")}</span>;
}
