import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { resourcesOf } from "../../api/pages.ts";
import { Badge, Button, Duration, ListState, ShowMore, StatusBadge, Table, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Deployment, isOpen, type Revision, useRevisions } from "./deployment-api.ts";
import { RollBackDialog } from "./revision-page.tsx";
import { Commit } from "./source-text.tsx";

export function RevisionsTab({ deployment }: { deployment: Deployment }) {
  const found = useRevisions(deployment.id);
  const mayChange = useCan("editor");
  const [target, setTarget] = useState<Revision | null>(null);
  return (
    <ListState of={found} rows={resourcesOf(found.data)} lines={3} height="3rem">
      {(rows) => (
        <>
          <Table
            label="Revisions"
            rows={rows}
            rowKey={({ id }) => id}
            href={({ id }) => `/deployments/${deployment.id}/revisions/${id}`}
            columns={[
              {
                key: "number",
                header: "Revision",
                cell: (row) => (
                  <span className="row">
                    <Link className="strong" href={`/deployments/${deployment.id}/revisions/${row.id}`}>
                      Revision {row.number}
                    </Link>
                    {row.id === deployment.active_revision_id && <Badge tone="good">serves</Badge>}
                    {row.redeploy_of && <Badge>roll-back</Badge>}
                  </span>
                ),
              },
              { key: "status", header: "Status", cell: (row) => <StatusBadge status={row.status} /> },
              {
                key: "commit",
                header: "Commit",
                cell: (row) => <Commit sha={row.source_revision_config.repo_commit_sha} />,
              },
              {
                key: "took",
                header: "Took",
                align: "right",
                cell: (row) => (
                  <Duration since={row.created_at} until={isOpen(row.status) ? null : row.updated_at} />
                ),
              },
              {
                key: "created",
                header: "Created",
                align: "right",
                cell: (row) => <Time at={row.created_at} />,
              },
              {
                key: "actions",
                header: <span className="spoken">Actions</span>,
                align: "right",
                cell: (row) =>
                  mayChange && row.status === "DEPLOYED" && row.id !== deployment.active_revision_id ? (
                    <Button
                      size="small"
                      icon={RotateCcw}
                      aria-label={`Roll back to revision ${row.number}`}
                      onClick={() => setTarget(row)}
                    >
                      Roll back
                    </Button>
                  ) : null,
              },
            ]}
          />
          <ShowMore of={found} />
          {target && (
            <RollBackDialog deployment={deployment} revision={target} onClose={() => setTarget(null)} />
          )}
        </>
      )}
    </ListState>
  );
}
