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
import { type CreatedApiKey, isForServices, rolesUpTo, type Scope, scopes } from "./settings-api.ts";

const lifetimes = [
  { value: "7", label: "In a week" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "never", label: "Never" },
];

/** Asks for a name and a role, then shows the key: this once, since only its hash is kept. */
export function NewKeyDialog({ onClose }: { onClose(): void }) {
  const { current } = useWorkspace();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>(current.role === "admin" ? "editor" : current.role);
  const [days, setDays] = useState("90");
  const [everywhere, setEverywhere] = useState(false);
  const [service, setService] = useState(false);
  const [limited, setLimited] = useState(false);
  const [chosen, setChosen] = useState<readonly Scope[]>([]);
  const [project, setProject] = useState("");
  const [tried, setTried] = useState(false);
  const offered = scopes.filter(({ value }) => !service || isForServices(value));
  const named = chosen.filter((scope) => offered.some(({ value }) => value === scope));
  const onlyTraces = named.length === 1 && named[0] === "traces:write";
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () =>
      api.post<CreatedApiKey>("/v2/api-keys", {
        name: name.trim(),
        // A service has the role its scopes need.
        ...(service ? {} : { role }),
        ...(everywhere && !service ? { workspace_id: null } : {}),
        ...(service ? { service } : {}),
        ...(limited || service ? { scopes: named } : {}),
        ...((limited || service) && onlyTraces && project.trim() !== ""
          ? { tracing_project: project.trim() }
          : {}),
        expires_in_days: days === "never" ? null : Number(days),
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["settings", "keys"] }),
  });
  const fields = create.error instanceof ApiError ? create.error.fields : {};
  const wrong = name.trim() === "" ? "Name it after what uses it, for example ci." : null;
  const none = (limited || service) && named.length === 0 ? "Choose at least one." : null;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (!wrong && !none) create.mutate();
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
        {current.role === "admin" && (
          <Checkbox
            label="Service key"
            hint="For CI and other machines: it belongs to the workspace and to no person, and stays when you leave."
            checked={service}
            onChange={(event) => setService(event.target.checked)}
          />
        )}
        {!service && (
          <Field label="Role" error={fields.role}>
            <Select
              value={role}
              onChange={(event) => setRole(event.target.value as Role)}
              options={rolesUpTo(current.role)}
            />
          </Field>
        )}
        {!service && (
          <Checkbox
            label="Restrict it to some scopes"
            hint="Otherwise it can do everything its role allows."
            checked={limited}
            onChange={(event) => setLimited(event.target.checked)}
          />
        )}
        {(limited || service) && (
          <fieldset className="key-scopes">
            <legend>Scopes</legend>
            {offered.map(({ value, label, hint, adminOnly }) => (
              <Checkbox
                key={value}
                label={label}
                hint={adminOnly && !service ? `${hint} Needs the role Admin.` : hint}
                checked={chosen.includes(value)}
                onChange={(event) =>
                  setChosen(
                    event.target.checked ? [...chosen, value] : chosen.filter((each) => each !== value),
                  )
                }
              />
            ))}
            <ErrorLine error={(tried ? none : null) ?? fields.scopes ?? null} />
          </fieldset>
        )}
        {(limited || service) && onlyTraces && (
          <Field
            label="Tracing project"
            hint="Leave it empty for every project."
            error={fields.tracing_project}
          >
            <Input value={project} onChange={(event) => setProject(event.target.value)} />
          </Field>
        )}
        <Field label="Expires" error={fields.expires_at ?? fields.expires_in_days}>
          <Select value={days} onChange={(event) => setDays(event.target.value)} options={lifetimes} />
        </Field>
        {!service && (
          <Checkbox
            label="For every workspace"
            hint="Otherwise it opens only this one."
            checked={everywhere}
            onChange={(event) => setEverywhere(event.target.checked)}
          />
        )}
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
          Copy it now: <strong>it is shown only once.</strong> Only its hash is stored.
        </p>
        <CopyBlock label="the key" text={created.key} />
      </div>
    </Dialog>
  );
}
