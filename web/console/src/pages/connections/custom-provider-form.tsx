import { useState } from "react";
import {
  Button,
  ButtonLink,
  Card,
  Checkbox,
  ErrorLine,
  Field,
  Input,
  Select,
  useForm,
} from "../../ui/index.ts";
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
  /** Until it is typed it follows from the name. */
  provider_id: null as string | null,
  auth_url: "",
  token_url: "",
  client_id: "",
  client_secret: "",
  revocation_url: "",
  token_endpoint_auth_method: "client_secret_post",
};

export function CustomProviderForm({ redirectBase }: { redirectBase: string }) {
  const { create, busy, fields, error } = useNewProvider();
  const [usesPkce, setUsesPkce] = useState(true);
  const { values, text, problem, submit } = useForm({
    start,
    check,
    refused: fields,
    judge: "when sent",
    send: ({ provider_id, ...typed }) => {
      const given = Object.entries(typed).map(([name, value]) => [name, value.trim()] as const);
      create({
        ...Object.fromEntries(given.filter(([, value]) => value !== "")),
        provider_id: provider_id ?? idFrom(typed.name),
        uses_pkce: usesPkce,
      });
    },
  });
  const providerId = idOf(values);
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Name" error={problem("name")}>
          <Input {...text("name")} maxLength={200} autoFocus />
        </Field>
        <Field label="Id" hint="What agents call it." error={problem("provider_id")}>
          <Input {...text("provider_id")} value={providerId} spellCheck={false} />
        </Field>
        {providerId !== "" && (
          <RedirectUri uri={`${redirectBase}${encodeURIComponent(providerId)}`} where="the provider" />
        )}
        <Field label="Authorization URL" error={problem("auth_url")}>
          <Input type="url" {...text("auth_url")} spellCheck={false} />
        </Field>
        <Field label="Token URL" error={problem("token_url")}>
          <Input type="url" {...text("token_url")} spellCheck={false} />
        </Field>
        <Field label="Client id" error={problem("client_id")}>
          <Input {...text("client_id")} spellCheck={false} />
        </Field>
        <Field
          label="Client secret"
          optional
          hint="Kept encrypted, and never shown again."
          error={problem("client_secret")}
        >
          <Input type="password" autoComplete="new-password" {...text("client_secret")} />
        </Field>
        <details>
          <summary>More settings</summary>
          <div className="stack">
            <Field label="How the secret is sent" error={problem("token_endpoint_auth_method")}>
              <Select {...text("token_endpoint_auth_method")} options={authMethods} />
            </Field>
            <Field
              label="Revocation URL"
              optional
              hint="If empty, it is read from the server's metadata."
              error={problem("revocation_url")}
            >
              <Input type="url" {...text("revocation_url")} spellCheck={false} />
            </Field>
            <Checkbox
              label="Use PKCE"
              hint="Safer, and most servers support it."
              checked={usesPkce}
              onChange={(event) => setUsesPkce(event.target.checked)}
            />
          </div>
        </details>
        <ErrorLine error={error} />
        <div className="row">
          <ButtonLink href="/connections/new">Back</ButtonLink>
          <Button type="submit" look="primary" busy={busy}>
            Add the provider
          </Button>
        </div>
      </form>
    </Card>
  );
}

type Values = typeof start;

const idOf = ({ provider_id, name }: Values) => provider_id ?? idFrom(name);

const addressProblem = (text: string) =>
  isWebAddress(text.trim()) ? null : "Write the full address, starting with https://.";

function check(values: Values) {
  return {
    name: values.name.trim() === "" ? "Give it a name that people know." : null,
    provider_id: wrongProviderId(idOf(values)),
    auth_url: addressProblem(values.auth_url),
    token_url: addressProblem(values.token_url),
    client_id: values.client_id.trim() === "" ? "Copy it from the provider." : null,
    revocation_url: values.revocation_url.trim() === "" ? null : addressProblem(values.revocation_url),
  };
}
