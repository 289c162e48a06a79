import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import { session, type Workspace } from "../../session.ts";
import {
  Badge,
  Button,
  ConfirmDialog,
  CopyButton,
  Dialog,
  ErrorLine,
  Field,
  Input,
  Section,
  Table,
  toast,
} from "../../ui/index.ts";
import { useCan, useWorkspace } from "../../workspace.tsx";
import { roleNames } from "./settings-api.ts";

type Editing = { workspace: Workspace | null };

export function WorkspacesTab() {
  const { all, current } = useWorkspace();
  const mayCreate = useCan("admin");
  const client = useQueryClient();
  const [editing, setEditing] = useState<Editing | null>(null);
  const [deleting, setDeleting] = useState<Workspace | null>(null);
  return (
    <Section
      title="Workspaces"
      actions={
        mayCreate && (
          <Button look="primary" icon={Plus} onClick={() => setEditing({ workspace: null })}>
            New workspace
          </Button>
        )
      }
    >
      <p className="muted">
        Each has its own deployments, traces, keys and members. Nothing is shared between two of them.
      </p>
      <Table
        label="Workspaces"
        rows={all}
        rowKey={({ id }) => id}
        columns={[
          {
            key: "name",
            header: "Name",
            cell: (row: Workspace) => (
              <span className="row">
                <b>{row.name}</b>
                {row.id === current.id && <Badge tone="good">you are here</Badge>}
              </span>
            ),
          },
          {
            key: "id",
            header: "Id",
            grow: true,
            cell: (row) => (
              <span className="row">
                <code>{row.id}</code>
                <CopyButton text={row.id} label={`Copy the id of ${row.name}`} />
              </span>
            ),
          },
          { key: "role", header: "Your role", cell: (row) => roleNames[row.role] },
          {
            key: "actions",
            header: <span className="spoken">Actions</span>,
            align: "right",
            cell: (row) => (
              <span className="row row-actions">
                {row.id !== current.id && (
                  <Button
                    size="small"
                    aria-label={`Switch to ${row.name}`}
                    onClick={() => session.chooseWorkspace(row.id)}
                  >
                    Switch
                  </Button>
                )}
                {row.role === "admin" && (
                  <>
                    <Button
                      size="small"
                      aria-label={`Rename ${row.name}`}
                      onClick={() => setEditing({ workspace: row })}
                    >
                      Rename
                    </Button>
                    <Button
                      size="small"
                      look="danger"
                      aria-label={`Delete ${row.name}`}
                      onClick={() => setDeleting(row)}
                    >
                      Delete
                    </Button>
                  </>
                )}
              </span>
            ),
          },
        ]}
      />
      {editing && <NameDialog workspace={editing.workspace} onClose={() => setEditing(null)} />}
      {deleting && (
        <ConfirmDialog
          title="Delete this workspace?"
          action="Delete"
          typeToConfirm={deleting.name}
          onClose={() => setDeleting(null)}
          onConfirm={async () => {
            await api.delete(`/v2/workspaces/${deleting.id}`);
            toast.good(`${deleting.name} is deleted.`);
            const other = all.find(({ id }) => id !== deleting.id);
            setDeleting(null);
            if (deleting.id === current.id && other) session.chooseWorkspace(other.id);
            else await client.invalidateQueries({ queryKey: ["settings", "workspaces"] });
          }}
        >
          <strong>{deleting.name}</strong> is deleted for everybody at once, with its deployments, traces and
          keys.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function NameDialog({ workspace, onClose }: { workspace: Workspace | null; onClose(): void }) {
  const [name, setName] = useState(workspace?.name ?? "");
  const [tried, setTried] = useState(false);
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () =>
      workspace
        ? api.patch<Workspace>(`/v2/workspaces/${workspace.id}`, { name: name.trim() })
        : api.post<Workspace>("/v2/workspaces", { name: name.trim() }),
    onSuccess: async (made) => {
      toast.good(workspace ? `Its name is now ${made.name}.` : `${made.name} is ready.`);
      onClose();
      await client.invalidateQueries({ queryKey: ["settings", "workspaces"] });
    },
  });
  const fields = save.error instanceof ApiError ? save.error.fields : {};
  const wrong = name.trim() === "" ? "Give it a name." : null;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (!wrong) save.mutate();
  };
  return (
    <Dialog
      title={workspace ? "Rename the workspace" : "New workspace"}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={save.isPending} onClick={() => submit()}>
            {workspace ? "Rename" : "Create"}
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Name" error={(tried ? wrong : null) ?? fields.name}>
          <Input value={name} onChange={(event) => setName(event.target.value)} autoFocus maxLength={200} />
        </Field>
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? save.error : null} />
      </form>
    </Dialog>
  );
}
