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
import { type ApiKey, useApiKeys, useMembers } from "./settings-api.ts";

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
          <EmptyState icon={KeyRound} title="You have no key">
            Create one for each program, so that you can revoke each one separately.
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
                cell: (row: ApiKey) => (
                  <span className="two-lines">
                    <span className="row">
                      <b>{row.name}</b>
                      {isOwn(row) && <Badge tone="good">this one</Badge>}
                      {row.workspace_id === null && (
                        <Badge title="Opens every workspace of its user">all workspaces</Badge>
                      )}
                    </span>
                    <code>{row.prefix}</code>
                  </span>
                ),
              },
              { key: "rights", header: "May do", grow: true, cell: (row) => <Rights of={row} /> },
              {
                key: "user",
                header: "Belongs to",
                cell: (row) => (
                  <Owner
                    of={row}
                    person={people.get(row.user_id ?? "")}
                    maker={people.get(row.created_by ?? "")}
                  />
                ),
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

/** The role, or of it only the scopes. */
function Rights({ of: { role, scopes, tracing_project } }: { of: ApiKey }) {
  if (scopes === null) return `Everything ${role === "viewer" ? "a" : "an"} ${role} may`;
  return (
    <span className="two-lines">
      <span>
        Only {scopes.join(", ")}
        {tracing_project !== null && ` of the project ${tracing_project}`}
      </span>
      <span className="muted small">
        as {role === "viewer" ? "a" : "an"} {role}
      </span>
    </span>
  );
}

type Person = string | undefined;

function Owner({ of, person, maker }: { of: ApiKey; person: Person; maker: Person }) {
  // A user who makes a key for another person knows it too, so this is shown. A key of one's own is the ordinary case.
  const isSelfMade = !of.service && of.created_by === of.user_id;
  return (
    <span className="two-lines">
      {of.service ? (
        <Badge title="Belongs to the workspace and to no person">service</Badge>
      ) : (
        <span>{person ?? "a former member"}</span>
      )}
      {!isSelfMade && <span className="muted small">made by {maker ?? "somebody not known"}</span>}
    </span>
  );
}

/** The key this session was started with. */
function isOwn({ id }: ApiKey): boolean {
  return session.current?.apiKeyId === id;
}
