import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../../api/client.ts";
import { Button, Dialog, ErrorLine, Field, Input, toast } from "../../ui/index.ts";
import type { Provider } from "./connections-api.ts";

const names = ["name", "client_id", "auth_url", "token_url", "revocation_url"] as const;
type Values = Record<(typeof names)[number], string>;

/** Only the revocation address can be taken away; the server refuses the others. */
const cleared = (name: string) => (name === "revocation_url" ? null : "");

/** Only what was changed is sent; a secret that is left empty stays. */
export function EditProviderDialog({ provider, onClose }: { provider: Provider; onClose(): void }) {
  const before: Values = {
    name: provider.name,
    client_id: provider.client_id,
    auth_url: provider.auth_url,
    token_url: provider.token_url,
    revocation_url: provider.revocation_url ?? "",
  };
  const [values, setValues] = useState(before);
  const [secret, setSecret] = useState("");
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => {
      const changed = names.filter((name) => values[name].trim() !== before[name]);
      return api.patch<Provider>(`/v2/auth/providers/${encodeURIComponent(provider.provider_id)}`, {
        ...Object.fromEntries(changed.map((name) => [name, values[name].trim() || cleared(name)])),
        ...(secret.trim() === "" ? {} : { client_secret: secret.trim() }),
      });
    },
    onSuccess: async ({ name }) => {
      toast.good(`${name} is changed.`);
      onClose();
      await client.invalidateQueries({ queryKey: ["connections"] });
    },
  });
  const fields = save.error instanceof ApiError ? save.error.fields : {};
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    save.mutate();
  };
  const field = (name: keyof Values, label: string, type = "text") => (
    <Field label={label} error={fields[name]}>
      <Input
        type={type}
        value={values[name]}
        onChange={(event) => setValues({ ...values, [name]: event.target.value })}
        spellCheck={false}
      />
    </Field>
  );
  return (
    <Dialog
      title={`Edit ${provider.name}`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={save.isPending} onClick={() => submit()}>
            Save
          </Button>
        </>
      }
    >
      <form className="stack" onSubmit={submit} noValidate>
        {field("name", "Name")}
        {field("client_id", "Client id")}
        <Field
          label="New client secret"
          optional
          hint="Leave it empty to keep the current one."
          error={fields.client_secret}
        >
          <Input
            type="password"
            autoComplete="new-password"
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
          />
        </Field>
        {!provider.is_dynamic_client && (
          <>
            {field("auth_url", "Authorization URL", "url")}
            {field("token_url", "Token URL", "url")}
            {field("revocation_url", "Revocation URL", "url")}
          </>
        )}
        <button type="submit" hidden />
        <ErrorLine error={Object.keys(fields).length === 0 ? save.error : null} />
      </form>
    </Dialog>
  );
}
