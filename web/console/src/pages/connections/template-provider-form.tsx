import { ExternalLink } from "lucide-react";
import { Button, ButtonLink, Card, ErrorLine, Field, Input, useForm } from "../../ui/index.ts";
import type { Template } from "./connections-api.ts";
import { RedirectUri } from "./redirect-uri.tsx";
import { useNewProvider, wrongProviderId } from "./use-new-provider.ts";

/** A person enters the id and the secret; the rest is known. */
export function TemplateProviderForm({ template }: { template: Template }) {
  const { create, busy, fields, error } = useNewProvider();
  const missing = (text: string) => (text.trim() === "" ? `Copy it from ${template.name}.` : null);
  const { values, text, problem, submit } = useForm({
    start: { provider_id: template.id, client_id: "", client_secret: "" },
    check: ({ provider_id, client_id, client_secret }) => ({
      provider_id: wrongProviderId(provider_id.trim()),
      client_id: missing(client_id),
      client_secret: missing(client_secret),
    }),
    refused: fields,
    judge: "when sent",
    send: ({ provider_id, client_id, client_secret }) =>
      create({
        template: template.id,
        provider_id: provider_id.trim(),
        client_id: client_id.trim(),
        client_secret: client_secret.trim(),
      }),
  });
  const base = template.default_redirect_uri.slice(0, -template.id.length);
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <ol className="steps">
          <li>
            <p>
              Register an OAuth app at{" "}
              <a href={template.setup_url} target="_blank" rel="noopener noreferrer">
                {template.name}
                <ExternalLink aria-hidden="true" size={13} />
              </a>{" "}
              with this redirect URI.
            </p>
            <RedirectUri
              uri={`${base}${encodeURIComponent(values.provider_id.trim())}`}
              where={template.name}
            />
          </li>
          <li className="stack">
            <p>Copy the values it shows.</p>
            <Field label="Client id" error={problem("client_id")}>
              <Input {...text("client_id")} spellCheck={false} autoFocus />
            </Field>
            <Field
              label="Client secret"
              hint="Kept encrypted, and never shown again."
              error={problem("client_secret")}
            >
              <Input type="password" autoComplete="new-password" {...text("client_secret")} />
            </Field>
          </li>
        </ol>
        {template.notes.length > 0 && (
          <ul className="notes muted small">
            {template.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
        <details>
          <summary>Use another id</summary>
          <Field
            label="Id"
            hint="What agents call it. It is part of the redirect URI."
            error={problem("provider_id")}
          >
            <Input {...text("provider_id")} spellCheck={false} />
          </Field>
        </details>
        {fields.provider_id && <ErrorLine error={`The id: ${fields.provider_id}`} />}
        <ErrorLine error={error} />
        <div className="row">
          <ButtonLink href="/connections/new">Back</ButtonLink>
          <Button type="submit" look="primary" busy={busy}>
            Add {template.name}
          </Button>
        </div>
      </form>
    </Card>
  );
}
