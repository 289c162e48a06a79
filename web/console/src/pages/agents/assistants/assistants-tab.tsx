import { Plus } from "lucide-react";
import { Link } from "wouter";
import { ButtonLink, CopyButton, EmptyState, ListState, Table, Time } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { type AgentServer, type Assistant, useAssistants } from "../agent-api.ts";

export function AssistantsTab({ server }: { server: AgentServer }) {
  const found = useAssistants(server);
  const mayMake = useCan("editor");
  const hrefOf = ({ assistant_id }: Assistant) => `/agents/${server.id}/assistants/${assistant_id}`;
  return (
    <>
      {mayMake && (
        <div className="row thread-filters">
          <ButtonLink href={`/agents/${server.id}/assistants/new`} icon={Plus}>
            New assistant
          </ButtonLink>
        </div>
      )}
      <ListState
        of={found}
        rows={found.data}
        lines={3}
        height="3.2rem"
        empty={
          <EmptyState title="No assistants">The graphs of this server did not load; see its logs.</EmptyState>
        }
      >
        {(rows) => (
          <Table
            label="Assistants"
            rows={rows}
            rowKey={({ assistant_id }) => assistant_id}
            href={hrefOf}
            columns={[
              {
                key: "name",
                header: "Name",
                grow: true,
                cell: (row: Assistant) => (
                  <>
                    <Link href={hrefOf(row)}>{row.name}</Link>
                    {row.description && <div className="muted">{row.description}</div>}
                  </>
                ),
              },
              { key: "graph", header: "Graph", cell: (row) => <code>{row.graph_id}</code> },
              { key: "version", header: "Version", align: "right", cell: (row) => row.version },
              {
                key: "id",
                header: "Id",
                wideOnly: true,
                cell: (row) => <CopyButton text={row.assistant_id} label={`Copy the id of ${row.name}`} />,
              },
              {
                key: "changed",
                header: "Changed",
                align: "right",
                cell: (row) => <Time at={row.updated_at} />,
              },
            ]}
          />
        )}
      </ListState>
    </>
  );
}
