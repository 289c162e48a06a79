import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import { resourcesOf } from "../../api/pages.ts";
import type { Answers } from "../../api/wire.ts";
import type { Role } from "../../session.ts";
import {
  Button,
  ConfirmDialog,
  Dialog,
  ErrorLine,
  Field,
  Input,
  ListState,
  Section,
  Select,
  ShowMore,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan, useWorkspace } from "../../workspace.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { type Member, roleNames, roles, useMembers } from "./settings-api.ts";

export function MembersTab() {
  const found = useMembers();
  const mayChange = useCan("admin");
  const client = useQueryClient();
  const [adding, setAdding] = useState(false);
  const [inviting, setInviting] = useState<Member | null>(null);
  const [removing, setRemoving] = useState<Member | null>(null);
  const [signingOut, setSigningOut] = useState<Member | null>(null);
  const change = useMutation({
    mutationFn: ({ id, role }: { id: string; role: Role }) =>
      api.patch<Member>(`/v2/members/${id}`, { role }),
    onSuccess: ({ name, email, role }) =>
      toast.good(`${name || email} is now ${roleNames[role].toLowerCase()}.`),
    onError: (error) => toast.bad(error),
    onSettled: () => client.invalidateQueries({ queryKey: ["settings", "members"] }),
  });
  return (
    <Section
      title="Members"
      actions={
        mayChange && (
          <Button look="primary" icon={Plus} onClick={() => setAdding(true)}>
            Add a member
          </Button>
        )
      }
    >
      <ListState of={found} rows={resourcesOf(found.data)} lines={3} height="3rem">
        {(rows) => (
          <Table
            label="Members"
            rows={rows}
            rowKey={({ user_id }) => user_id}
            columns={[
              { key: "name", header: "Name", cell: (row: Member) => <b>{row.name || row.email}</b> },
              {
                key: "email",
                header: "Email",
                grow: true,
                cell: (row) => <span className="break">{row.email}</span>,
              },
              {
                key: "role",
                header: "Role",
                cell: (row) =>
                  mayChange ? (
                    <Select
                      aria-label={`Role of ${row.name || row.email}`}
                      className="role"
                      value={row.role}
                      onChange={(event) =>
                        change.mutate({ id: row.user_id, role: event.target.value as Role })
                      }
                      options={roles.map(({ value }) => ({ value, label: roleNames[value] }))}
                    />
                  ) : (
                    roleNames[row.role]
                  ),
              },
              { key: "since", header: "Since", align: "right", cell: (row) => <Time at={row.created_at} /> },
              {
                key: "actions",
                header: <span className="spoken">Actions</span>,
                align: "right",
                cell: (row) =>
                  mayChange && (
                    <span className="row row-actions">
                      {row.signed_in_at === null && (
                        <Button
                          size="small"
                          aria-label={`Create an invite link for ${row.name || row.email}`}
                          onClick={() => setInviting(row)}
                        >
                          Invite link
                        </Button>
                      )}
                      <Button
                        size="small"
                        aria-label={`Sign out ${row.name || row.email} everywhere`}
                        onClick={() => setSigningOut(row)}
                      >
                        Sign out
                      </Button>
                      <Button
                        look="danger"
                        size="small"
                        aria-label={`Remove ${row.name || row.email}`}
                        onClick={() => setRemoving(row)}
                      >
                        Remove
                      </Button>
                    </span>
                  ),
              },
            ]}
          />
        )}
      </ListState>
      <ShowMore of={found} />
      {adding && <AddDialog onClose={() => setAdding(false)} onAdded={setInviting} />}
      {inviting && <InviteDialog member={inviting} onClose={() => setInviting(null)} />}
      {signingOut && (
        <ConfirmDialog
          title={`Sign out ${signingOut.name || signingOut.email} everywhere?`}
          action="Sign out"
          onClose={() => setSigningOut(null)}
          onConfirm={async () => {
            const { ended } = await api.delete<Answers["sign_out_everywhere"]>(
              `/v2/auth/sessions?user_id=${signingOut.user_id}`,
            );
            toast.good(`Sessions ended: ${ended}.`);
            setSigningOut(null);
          }}
        >
          They have to sign in again in every browser. Their keys keep working.
        </ConfirmDialog>
      )}
      {removing && (
        <ConfirmDialog
          title={`Remove ${removing.name || removing.email}?`}
          action="Remove"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await api.delete(`/v2/members/${removing.user_id}`);
            toast.good(`${removing.name || removing.email} is removed.`);
            setRemoving(null);
            await client.invalidateQueries({ queryKey: ["settings"] });
          }}
        >
          They are signed out. Their keys for this workspace and the accounts they connected here are revoked.
          Other workspaces are not affected.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function AddDialog({ onClose, onAdded }: { onClose(): void; onAdded(member: Member): void }) {
  const { current } = useWorkspace();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [tried, setTried] = useState(false);
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: () =>
      api.post<Member>("/v2/members", {
        email: email.trim(),
        role,
        ...(name.trim() === "" ? {} : { name: name.trim() }),
      }),
    onSuccess: async (made) => {
      toast.good(`${made.name || made.email} is a member of ${current.name}.`);
      onClose();
      if (made.signed_in_at === null) onAdded(made);
      await client.invalidateQueries({ queryKey: ["settings", "members"] });
    },
  });
  const fields = add.error instanceof ApiError ? add.error.fields : {};
  const wrong = /^\S+@\S+\.\S+$/.test(email.trim()) ? null : "Write an address like ada@example.com.";
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (!wrong) add.mutate();
  };
  return (
    <Dialog
      title="Add a member"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={add.isPending} onClick={() => submit()}>
            Add
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <p className="muted">
          No e-mail is sent. You get a link to send them, with which they can sign in once.
        </p>
        <Field label="Email" error={(tried || email.includes(" ") ? wrong : null) ?? fields.email}>
          <Input type="email" value={email} onChange={(event) => setEmail(event.target.value)} autoFocus />
        </Field>
        <Field label="Name" optional error={fields.name}>
          <Input value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="Role" error={fields.role}>
          <Select value={role} onChange={(event) => setRole(event.target.value as Role)} options={roles} />
        </Field>
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? add.error : null} />
      </form>
    </Dialog>
  );
}
