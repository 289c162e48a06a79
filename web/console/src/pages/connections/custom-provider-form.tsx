import { type FormEvent, useState } from "react";
import { Button, ButtonLink, Card, Checkbox, ErrorLine, Field, Input, Select } from "../../ui/index.ts";
import { idFrom } from "./mcp-provider-form.tsx";
import { isWebAddress } from "./open-consent.ts";
import { RedirectUri } from "./redirect-uri.tsx";
import { useNewProvider, wrongProviderId } from "./use-new-provider.ts";

export const authMethods = [
  { value: "client_secret_post", label: "In the request's body" },
  { value: "client_secret_basic", label: "In the Authorization header" },
  { value: "none", label: "No secret, PKCE alone" },
];

const start = {
  name: "",
  auth_url: "",
  token_url: "",
  client_id: "",
  client_secret: "",
  revocation_url: "",
  token_endpoint_auth_method: "client_secret_post",
};

export function CustomProviderForm({ redirectBase }: { redirectBase: string }) {
  const { create, busy, fields, error } = useNewProvider();
  const [values, setValues] = useState(start);
  const [id, setId] = useState<string | null>(null);
  const [usesPkce, setUsesPkce] = useState(true);
  const [tried, setTried] = useState(false);
  const providerId = id ?? idFrom(values.name);
  const set = (name: keyof typeof start) => (event: { target: { value: string } }) =>
    setValues({ ...values, [name]: event.target.value });
  const address = (text: string) =>
    isWebAddress(text.trim()) ? null : "Write the whole address, beginning with https://.";
  const wrong: Record<string, string | null> = {
    name: values.name.trim() === "" ? "Give it the name people know it by." : null,
    provider_id: wrongProviderId(providerId),
    auth_url: address(values.auth_url),
    token_url: address(values.token_url),
    client_id: values.client_id.trim() === "" ? "Copy it from the provider." : null,
    revocation_url: values.revocation_url.trim() === "" ? null : address(values.revocation_url),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.values(wrong).some(Boolean)) return;
    const given = Object.entries(values).map(([name, value]) => [name, value.trim()] as const);
    create({
      ...Object.fromEntries(given.filter(([, value]) => value !== "")),
      provider_id: providerId,
      uses_pkce: usesPkce,
    });
  };
  const shown = (name: string) => (tried ? wrong[name] : null) ?? fields[name];
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Name" error={shown("name")}>
          <Input value={values.name} onChange={set("name")} maxLength={200} autoFocus />
        </Field>
        <Field label="Id" hint="What agents call it." error={shown("provider_id")}>
          <Input value={providerId} onChange={(event) => setId(event.target.value)} spellCheck={false} />
        </Field>
        {providerId !== "" && (
          <RedirectUri uri={`${redirectBase}${encodeURIComponent(providerId)}`} where="the provider" />
        )}
        <Field label="Authorization URL" error={shown("auth_url")}>
          <Input type="url" value={values.auth_url} onChange={set("auth_url")} spellCheck={false} />
        </Field>
        <Field label="Token URL" error={shown("token_url")}>
          <Input type="url" value={values.token_url} onChange={set("token_url")} spellCheck={false} />
        </Field>
        <Field label="Client id" error={shown("client_id")}>
          <Input value={values.client_id} onChange={set("client_id")} spellCheck={false} />
        </Field>
        <Field
          label="Client secret"
          optional
          hint="Kept encrypted, and never shown again."
          error={fields.client_secret}
        >
          <Input
            type="password"
            autoComplete="new-password"
            value={values.client_secret}
            onChange={set("client_secret")}
          />
        </Field>
        <details>
          <summary>More settings</summary>
          <div className="stack">
            <Field label="How the secret is sent" error={fields.token_endpoint_auth_method}>
              <Select
                value={values.token_endpoint_auth_method}
                onChange={set("token_endpoint_auth_method")}
                options={authMethods}
              />
            </Field>
            <Field
              label="Revocation URL"
              optional
              hint="Left out, the server's own metadata is asked."
              error={shown("revocation_url")}
            >
              <Input
                type="url"
                value={values.revocation_url}
                onChange={set("revocation_url")}
                spellCheck={false}
              />
            </Field>
            <Checkbox
              label="Use PKCE"
              hint="Safer, and most servers know it."
              checked={usesPkce}
              onChange={(event) => setUsesPkce(event.target.checked)}
            />
          </div>
        </details>
        <ErrorLine error={error} />
        <div className="row form-actions">
          <ButtonLink href="/connections/new">Back</ButtonLink>
          <Button type="submit" look="primary" busy={busy}>
            Add the provider
          </Button>
        </div>
      </form>
    </Card>
  );
}
