import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import type { Role } from "../../session.ts";
import {
  Button,
  Checkbox,
  CopyBlock,
  CopyButton,
  Dialog,
  ErrorLine,
  Field,
  Input,
  Select,
} from "../../ui/index.ts";
import { useWorkspace } from "../../workspace.tsx";
import { type CreatedApiKey, rolesUpTo } from "./settings-api.ts";

const lifetimes = [
  { value: "", label: "Never" },
  { value: "7", label: "In a week" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

/** Asks for a name and a role, then shows the key: this once, since only its hash is kept. */
export function NewKeyDialog({ onClose }: { onClose(): void }) {
  const { current } = useWorkspace();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>(current.role);
  const [days, setDays] = useState("");
  const [everywhere, setEverywhere] = useState(false);
  const [tried, setTried] = useState(false);
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      api.post<CreatedApiKey>("/v2/api-keys", {
        name: name.trim(),
        role,
        ...(everywhere ? { workspace_id: null } : {}),
        ...(days === ""
          ? {}
          : { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["settings", "keys"] }),
  });
  const fields = create.error instanceof ApiError ? create.error.fields : {};
  const wrong = name.trim() === "" ? "Name it after what uses it, for example ci." : null;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (!wrong) create.mutate();
  };
  if (create.data) return <ShownOnce created={create.data} onClose={onClose} />;
  return (
    <Dialog
      title="New API key"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={create.isPending} onClick={() => submit()}>
            Create
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Name" error={(tried ? wrong : null) ?? fields.name}>
          <Input value={name} onChange={(event) => setName(event.target.value)} autoFocus maxLength={200} />
        </Field>
        <Field label="Role" error={fields.role}>
          <Select
            value={role}
            onChange={(event) => setRole(event.target.value as Role)}
            options={rolesUpTo(current.role)}
          />
        </Field>
        <Field label="Expires" error={fields.expires_at}>
          <Select value={days} onChange={(event) => setDays(event.target.value)} options={lifetimes} />
        </Field>
        <Checkbox
          label="For every workspace"
          hint="Otherwise it opens only this one."
          checked={everywhere}
          onChange={(event) => setEverywhere(event.target.checked)}
        />
        {/* Enter sends the form, without a second button in it. */}
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? create.error : null} />
      </form>
    </Dialog>
  );
}

function ShownOnce({ created, onClose }: { created: CreatedApiKey; onClose(): void }) {
  return (
    <Dialog
      title={`${created.name}: your new key`}
      onClose={onClose}
      footer={
        <>
          <CopyButton text={created.key} label="Copy the key" words="Copy" />
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          Copy it now: <strong>it is shown this once.</strong> Only its hash is kept.
        </p>
        <CopyBlock label="the key" text={created.key} />
      </div>
    </Dialog>
  );
}
