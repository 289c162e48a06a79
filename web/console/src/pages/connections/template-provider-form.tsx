import { ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button, ButtonLink, Card, ErrorLine, Field, Input } from "../../ui/index.ts";
import type { Template } from "./connections-api.ts";
import { RedirectUri } from "./redirect-uri.tsx";
import { useNewProvider, wrongProviderId } from "./use-new-provider.ts";

/** A person enters the id and the secret; the rest is known. */
export function TemplateProviderForm({ template }: { template: Template }) {
  const { create, busy, fields, error } = useNewProvider();
  const [providerId, setProviderId] = useState(template.id);
  const [clientId, setClientId] = useState("");
  const [secret, setSecret] = useState("");
  const [tried, setTried] = useState(false);
  const base = template.default_redirect_uri.slice(0, -template.id.length);
  const wrong = {
    providerId: wrongProviderId(providerId.trim()),
    clientId: clientId.trim() === "" ? `Copy it from ${template.name}.` : null,
    secret: secret.trim() === "" ? `Copy it from ${template.name}.` : null,
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.values(wrong).some(Boolean)) return;
    create({
      template: template.id,
      provider_id: providerId.trim(),
      client_id: clientId.trim(),
      client_secret: secret.trim(),
    });
  };
  const shown = (name: keyof typeof wrong) => (tried ? wrong[name] : null);
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
            <RedirectUri uri={`${base}${encodeURIComponent(providerId.trim())}`} where={template.name} />
          </li>
          <li className="stack">
            <p>Copy what it gives you.</p>
            <Field label="Client id" error={shown("clientId") ?? fields.client_id}>
              <Input
                value={clientId}
                onChange={(event) => setClientId(event.target.value)}
                spellCheck={false}
                autoFocus
              />
            </Field>
            <Field
              label="Client secret"
              hint="Kept encrypted, and never shown again."
              error={shown("secret") ?? fields.client_secret}
            >
              <Input
                type="password"
                autoComplete="new-password"
                value={secret}
                onChange={(event) => setSecret(event.target.value)}
              />
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
            error={shown("providerId") ?? fields.provider_id}
          >
            <Input
              value={providerId}
              onChange={(event) => setProviderId(event.target.value)}
              spellCheck={false}
            />
          </Field>
        </details>
        {fields.provider_id && <ErrorLine error={`The id: ${fields.provider_id}`} />}
        <ErrorLine error={error} />
        <div className="row form-actions">
          <ButtonLink href="/connections/new">Back</ButtonLink>
          <Button type="submit" look="primary" busy={busy}>
            Add {template.name}
          </Button>
        </div>
      </form>
    </Card>
  );
}
