import { KeyRound } from "lucide-react";
import { Link } from "wouter";
import { Badge, ButtonLink, EmptyState, ListState, Section, Table, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Provider, useAllProviders } from "./connections-api.ts";

export function ProvidersTab() {
  const found = useAllProviders();
  const mayChange = useCan("editor");
  const own = new Set(found.own.map(({ id }) => id));
  return (
    <ListState
      of={found}
      rows={found.isPending ? undefined : found.all}
      lines={3}
      height="3.4rem"
      empty={
        <EmptyState
          icon={KeyRound}
          title="No provider yet"
          action={
            mayChange && (
              <ButtonLink href="/connections/new" look="primary">
                Add a provider
              </ButtonLink>
            )
          }
        >
          For GitHub, Google and many others a client id and a secret are enough. An MCP server needs only its
          address.
        </EmptyState>
      }
    >
      {(rows) => (
        <Section title="Providers">
          <Table
            label="Providers"
            rows={rows}
            rowKey={({ id }) => id}
            href={(row) => (own.has(row.id) ? hrefOf(row) : "/connections?tab=providers")}
            columns={[
              {
                key: "name",
                header: "Name",
                cell: (row: Provider) =>
                  own.has(row.id) ? <Link href={hrefOf(row)}>{row.name}</Link> : <b>{row.name}</b>,
              },
              { key: "id", header: "Id", cell: (row) => <code>{row.provider_id}</code> },
              {
                key: "kind",
                header: "Kind",
                cell: (row) => <Kind provider={row} shared={!own.has(row.id)} />,
              },
              {
                key: "server",
                header: "Server",
                grow: true,
                cell: (row) => <span className="muted break">{new URL(row.token_url).host}</span>,
              },
              {
                key: "changed",
                header: "Changed",
                align: "right",
                cell: (row) => <Time at={row.updated_at} />,
              },
            ]}
          />
        </Section>
      )}
    </ListState>
  );
}

function Kind({ provider, shared }: { provider: Provider; shared: boolean }) {
  if (shared) return <Badge title="Set up by the operator for every workspace.">Platform</Badge>;
  return provider.mcp_server_url ? <Badge tone="good">MCP</Badge> : <Badge>OAuth</Badge>;
}

export function hrefOf({ provider_id }: Provider): string {
  return `/connections/providers/${encodeURIComponent(provider_id)}`;
}
