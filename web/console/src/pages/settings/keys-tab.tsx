import { useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { resourcesOf } from "../../api/pages.ts";
import { session } from "../../session.ts";
import {
  Badge,
  Button,
  ConfirmDialog,
  EmptyState,
  ListState,
  Section,
  ShowMore,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";
import { type ApiKey, roleNames, useApiKeys, useMembers } from "./settings-api.ts";

export function KeysTab() {
  const found = useApiKeys();
  const members = useMembers();
  const client = useQueryClient();
  const mayCreate = useCan("editor");
  const mayRevoke = useCan("admin");
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const people = new Map(
    members.data?.pages
      .flatMap(({ resources }) => resources)
      .map(({ user_id, name, email }) => [user_id, name || email]),
  );
  const create = mayCreate && (
    <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
      New key
    </Button>
  );
  return (
    <Section title="API keys" actions={create}>
      <ListState
        of={found}
        rows={resourcesOf(found.data)}
        lines={3}
        height="3rem"
        empty={
          <EmptyState icon={KeyRound} title="You have no key of your own">
            Make one for each program, so that each can be revoked alone.
          </EmptyState>
        }
      >
        {(rows) => (
          <Table
            label="API keys"
            rows={rows}
            rowKey={({ id }) => id}
            columns={[
              {
                key: "name",
                header: "Name",
                grow: true,
                cell: (row: ApiKey) => (
                  <span className="row">
                    <b>{row.name}</b>
                    {isOwn(row) && <Badge tone="good">this one</Badge>}
                    {row.workspace_id === null && (
                      <Badge title="Opens every workspace of its user">all workspaces</Badge>
                    )}
                  </span>
                ),
              },
              { key: "prefix", header: "Key", cell: (row) => <code>{row.prefix}</code> },
              { key: "role", header: "Role", cell: (row) => roleNames[row.role] },
              { key: "scopes", header: "Scopes", cell: (row) => <Scopes of={row} /> },
              {
                key: "user",
                header: "Belongs to",
                cell: (row) =>
                  row.service ? (
                    <Badge title="Belongs to the workspace and to no person">service</Badge>
                  ) : (
                    (people.get(row.user_id ?? "") ?? <span className="muted">–</span>)
                  ),
              },
              {
                key: "maker",
                header: "Made by",
                wideOnly: true,
                cell: (row) => people.get(row.created_by ?? "") ?? <span className="muted">not known</span>,
              },
              {
                key: "used",
                header: "Last used",
                align: "right",
                cell: (row) =>
                  row.last_used_at ? <Time at={row.last_used_at} /> : <span className="muted">never</span>,
              },
              {
                key: "expires",
                header: "Expires",
                align: "right",
                wideOnly: true,
                cell: (row) =>
                  row.expires_at ? <Time at={row.expires_at} /> : <span className="muted">never</span>,
              },
              {
                key: "actions",
                header: <span className="spoken">Actions</span>,
                align: "right",
                cell: (row) =>
                  mayRevoke && (
                    <Button
                      look="danger"
                      size="small"
                      aria-label={`Revoke ${row.name}`}
                      onClick={() => setRevoking(row)}
                    >
                      Revoke
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </ListState>
      <ShowMore of={found} />
      {creating && <NewKeyDialog onClose={() => setCreating(false)} />}
      {revoking && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          action="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={async () => {
            await api.delete(`/v2/api-keys/${revoking.id}`);
            toast.good(`${revoking.name} is revoked.`);
            setRevoking(null);
            await client.invalidateQueries({ queryKey: ["settings", "keys"] });
          }}
        >
          Programs that use it are refused at once.{" "}
          {isOwn(revoking) && <strong>You have signed in with this key, and will be signed out.</strong>} This
          cannot be undone.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function Scopes({ of: { scopes, tracing_project } }: { of: ApiKey }) {
  if (scopes === null) return <span className="muted">all of its role</span>;
  return (
    <span className="row">
      {scopes.map((scope) => (
        <Badge key={scope}>{scope}</Badge>
      ))}
      {tracing_project !== null && <span className="muted">of {tracing_project}</span>}
    </span>
  );
}

/** The key this session was started with. */
function isOwn({ id }: ApiKey): boolean {
  return session.current?.apiKeyId === id;
}
