import { Plus, Rocket } from "lucide-react";
import { Link, useSearchParams } from "wouter";
import { resourcesOf } from "../../api/pages.ts";
import {
  Badge,
  ButtonLink,
  EmptyState,
  ListState,
  Page,
  PageHeader,
  SearchInput,
  ShowMore,
  Table,
  Time,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Deployment, useDeployments, useLatestRevisions } from "./deployment-api.ts";
import { IsolationNotice } from "./isolation-notice.tsx";
import { SourceText } from "./source-text.tsx";
import { DeploymentBadge } from "./state-badge.tsx";

export function ListPage() {
  const [params, setParams] = useSearchParams();
  const search = params.get("q") ?? "";
  const found = useDeployments(search);
  const mayCreate = useCan("editor");
  const rows = resourcesOf(found.data) ?? [];
  const latest = useLatestRevisions(rows);
  const create = mayCreate && (
    <ButtonLink href="/deployments/new" look="primary" icon={Plus}>
      New deployment
    </ButtonLink>
  );
  return (
    <Page title="Deployments">
      <PageHeader
        title="Deployments"
        description="Agents built from a template, a folder or a git repository, each served at its own address."
        actions={create}
      />
      <IsolationNotice />
      {(rows.length > 0 || search !== "") && (
        <SearchInput
          label="Search by name"
          value={search}
          onChange={(text) => setParams(text === "" ? {} : { q: text }, { replace: true })}
        />
      )}
      <ListState
        of={found}
        rows={found.data && rows}
        lines={4}
        height="3.2rem"
        empty={<NoDeployments search={search} action={create} />}
      >
        {() => (
          <>
            <Table
              label="Deployments"
              rows={rows}
              rowKey={({ id }) => id}
              href={({ id }) => `/deployments/${id}`}
              columns={[
                {
                  key: "name",
                  header: "Name",
                  cell: (row: Deployment) => (
                    <>
                      <Link href={`/deployments/${row.id}`}>{row.display_name ?? row.name}</Link>{" "}
                      {row.is_preview && <Badge>preview</Badge>}
                    </>
                  ),
                },
                {
                  key: "state",
                  header: "State",
                  cell: (row) => <DeploymentBadge deployment={row} latest={latest.get(row.id)} />,
                },
                {
                  key: "source",
                  header: "Source",
                  grow: true,
                  cell: (row) => <SourceText deployment={row} />,
                },
                {
                  key: "updated",
                  header: "Changed",
                  align: "right",
                  cell: (row) => <Time at={row.updated_at} />,
                },
              ]}
            />
            <ShowMore of={found} />
          </>
        )}
      </ListState>
    </Page>
  );
}

function NoDeployments({ search, action }: { search: string; action: React.ReactNode }) {
  if (search !== "") {
    return <EmptyState title="No deployment has this name">Search for another part of the name.</EmptyState>;
  }
  return (
    <EmptyState icon={Rocket} title="Nothing is deployed yet" action={action}>
      Begin with a template, drop a project folder, or name a git repository: any project with a{" "}
      <code>langgraph.json</code>, in TypeScript or Python. Treadle builds the agent, starts it, and keeps it
      running; each change becomes a revision you can go back to.
    </EmptyState>
  );
}
