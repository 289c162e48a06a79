import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api/client.ts";
import type { GitInstallation } from "../../api/wire.ts";
import {
  Button,
  ConfirmDialog,
  EmptyState,
  ErrorState,
  Section,
  Skeleton,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";

const path = "/v2/integrations/github/installations";
/** Under that of deployments, whose forms choose from them. */
const queryKey = ["deployments", "integrations"];

const credentialNames: Record<GitInstallation["credential"], string> = {
  token: "Access token",
  ssh: "SSH key",
  app: "App",
};

/** The credentials that deployments are cloned with. */
export function GitTab() {
  const client = useQueryClient();
  const [removing, setRemoving] = useState<GitInstallation | null>(null);
  const found = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.get<GitInstallation[]>(path, { signal }),
  });
  return (
    <Section title="Git">
      <p className="muted">
        Tokens and keys that private repositories are read with. Each is stored encrypted, sent to its host
        alone, and never shown. Add one with a{" "}
        <Link href="/deployments/new?from=repository">new deployment</Link>.
      </p>
      {found.error && !found.data ? (
        <ErrorState error={found.error} retry={() => found.refetch()} />
      ) : !found.data ? (
        <Skeleton lines={3} height="3rem" />
      ) : found.data.length === 0 ? (
        <EmptyState title="No git credentials yet">
          Public repositories need none. For a private one, paste a token when you deploy it.
        </EmptyState>
      ) : (
        <Integrations rows={found.data} onRemove={setRemoving} />
      )}
      {removing && (
        <ConfirmDialog
          title={`Remove ${removing.name}?`}
          action="Remove"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await api.delete(`/v1/integrations/github/${removing.id}`);
            toast.good(`${removing.name} is removed.`);
            setRemoving(null);
            await client.invalidateQueries({ queryKey });
          }}
        >
          Its credential is erased here and stays valid at {removing.host}. Webhooks that are signed with its
          secret are refused from then on.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function Integrations({
  rows,
  onRemove,
}: {
  rows: readonly GitInstallation[];
  onRemove(row: GitInstallation): void;
}) {
  return (
    <Table
      label="Git credentials"
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        {
          key: "name",
          header: "Name",
          grow: true,
          cell: (row: GitInstallation) => (
            <span className="two-lines">
              <b className="break">{row.name}</b>
              <code>{row.host}</code>
            </span>
          ),
        },
        {
          key: "kind",
          header: "Credential",
          cell: (row) => <span className="nowrap">{credentialNames[row.credential]}</span>,
        },
        {
          key: "used",
          header: "Used by",
          cell: (row) => <span className="nowrap">{usesText(row.deployments)}</span>,
        },
        { key: "added", header: "Added", cell: (row) => <Time at={row.created_at} /> },
        {
          key: "actions",
          header: <span className="spoken">Actions</span>,
          align: "right",
          cell: (row) =>
            row.may_remove &&
            row.deployments === 0 && (
              <Button
                size="small"
                look="danger"
                aria-label={`Remove ${row.name}`}
                onClick={() => onRemove(row)}
              >
                Remove
              </Button>
            ),
        },
      ]}
    />
  );
}

const usesText = (count: number) =>
  count === 0 ? "nothing" : `${count} ${count === 1 ? "deployment" : "deployments"}`;
