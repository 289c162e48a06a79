import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import type { Answers } from "../../api/wire.ts";
import {
  Badge,
  Button,
  ConfirmDialog,
  Dialog,
  ErrorLine,
  ErrorState,
  Field,
  Input,
  Section,
  Skeleton,
  Table,
  Time,
  toast,
} from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";

type ModelKey = Answers["list_model_keys"]["resources"][number];
const path = "/v2/model-keys";
const queryKey = ["settings", "model-keys"];

/** Keys of model providers, so that the built-in agents answer with a real model. */
export function ModelsTab() {
  const mayChange = useCan("admin");
  const client = useQueryClient();
  const [editing, setEditing] = useState<ModelKey | null>(null);
  const [removing, setRemoving] = useState<ModelKey | null>(null);
  const keys = useQuery({
    queryKey,
    queryFn: async ({ signal }) => (await api.get<Answers["list_model_keys"]>(path, { signal })).resources,
  });
  return (
    <Section title="Models">
      <p className="muted">
        Paste a key, and the built-in agent answers with a real model: set its <code>model_name</code> to the
        provider, for example <code>openai</code>. Everybody who may start runs in this workspace uses the
        key. Deployments do not get it; give them their own secrets.
      </p>
      {keys.data ? (
        <Table
          label="Model providers"
          rows={keys.data}
          rowKey={({ provider }) => provider}
          columns={[
            {
              key: "name",
              header: "Provider",
              cell: (row: ModelKey) => (
                <span className="two-lines">
                  <b>{row.name}</b>
                  <code>{row.provider}</code>
                </span>
              ),
            },
            { key: "model", header: "Default model", cell: (row) => <code>{row.default_model}</code> },
            { key: "key", header: "Key", grow: true, cell: (row) => <KeyState of={row} /> },
            {
              key: "actions",
              header: <span className="spoken">Actions</span>,
              align: "right",
              cell: (row) =>
                mayChange && (
                  <span className="row row-actions">
                    <Button
                      size="small"
                      aria-label={row.set ? `Replace the key of ${row.name}` : `Add a key of ${row.name}`}
                      onClick={() => setEditing(row)}
                    >
                      {row.set ? "Replace" : "Add a key"}
                    </Button>
                    {row.set && (
                      <Button
                        size="small"
                        look="danger"
                        aria-label={`Remove the key of ${row.name}`}
                        onClick={() => setRemoving(row)}
                      >
                        Remove
                      </Button>
                    )}
                  </span>
                ),
            },
          ]}
        />
      ) : keys.error ? (
        <ErrorState error={keys.error} retry={() => keys.refetch()} />
      ) : (
        <Skeleton lines={3} height="3rem" />
      )}
      {editing && <KeyDialog of={editing} onClose={() => setEditing(null)} />}
      {removing && (
        <ConfirmDialog
          title={`Remove the key of ${removing.name}?`}
          action="Remove"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await api.delete(`${path}/${removing.provider}`);
            toast.good(`The key of ${removing.name} is removed.`);
            setRemoving(null);
            await client.invalidateQueries({ queryKey });
          }}
        >
          Runs that use its models fail from then on. The key stays valid at {removing.name}.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function KeyState({ of: { set, hint, on_server, updated_at } }: { of: ModelKey }) {
  if (set) {
    return (
      <span className="row">
        <code>{hint}</code>
        {updated_at !== null && (
          <span className="muted small">
            set <Time at={updated_at} />
          </span>
        )}
      </span>
    );
  }
  if (on_server) return <Badge title="For every workspace of this server">from the server</Badge>;
  return <span className="muted">none</span>;
}

function KeyDialog({ of: { provider, name }, onClose }: { of: ModelKey; onClose(): void }) {
  const [key, setKey] = useState("");
  const [tried, setTried] = useState(false);
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => api.put<ModelKey>(`${path}/${provider}`, { key: key.trim() }),
    onSuccess: async () => {
      toast.good(`The key for ${name} is stored.`);
      onClose();
      await client.invalidateQueries({ queryKey });
    },
  });
  const fields = save.error instanceof ApiError ? save.error.fields : {};
  const wrong = key.trim().length < 8 ? `Paste a key that you created at ${name}.` : null;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (!wrong) save.mutate();
  };
  return (
    <Dialog
      title={`Key of ${name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={save.isPending} onClick={() => submit()}>
            Keep it
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <p className="muted">It is stored encrypted and never shown again.</p>
        <Field label="API key" error={(tried ? wrong : null) ?? fields.key}>
          <Input
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={key}
            onChange={(event) => setKey(event.target.value)}
            autoFocus
          />
        </Field>
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? save.error : null} />
      </form>
    </Dialog>
  );
}
