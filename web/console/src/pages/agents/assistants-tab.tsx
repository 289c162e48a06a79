import { CopyButton, EmptyState, ListState, Table, Time } from "../../ui/index.ts";
import { type AgentServer, type Assistant, useAssistants } from "./agent-api.ts";

export function AssistantsTab({ server }: { server: AgentServer }) {
  const found = useAssistants(server);
  return (
    <ListState
      of={found}
      rows={found.data}
      lines={3}
      height="3.2rem"
      empty={
        <EmptyState title="No assistants">
          The graphs of this server did not load; its logs say why.
        </EmptyState>
      }
    >
      {(rows) => (
        <Table
          label="Assistants"
          rows={rows}
          rowKey={({ assistant_id }) => assistant_id}
          columns={[
            {
              key: "name",
              header: "Name",
              grow: true,
              cell: (row: Assistant) => (
                <>
                  <b>{row.name}</b>
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
  );
}
