import { type FormEvent, useState } from "react";
import { Button, ButtonLink, Card, ErrorLine, Field, Input } from "../../ui/index.ts";
import { isWebAddress } from "./open-consent.ts";
import { useNewProvider, wrongProviderId } from "./use-new-provider.ts";

/** The server's address; everything else is asked of it. */
export function McpProviderForm() {
  const { create, busy, fields, error } = useNewProvider("/v2/auth/providers/mcp-discover");
  const [url, setUrl] = useState("");
  const [name, setName] = useState("");
  const [id, setId] = useState<string | null>(null);
  const [tried, setTried] = useState(false);
  const providerId = id ?? idFrom(name);
  const wrong = {
    url: isWebAddress(url.trim())
      ? null
      : "Write the whole address, for example https://mcp.example.com/mcp.",
    name: name.trim() === "" ? "Give it the name people know it by." : null,
    id: wrongProviderId(providerId),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.values(wrong).some(Boolean)) return;
    create({ provider_id: providerId, name: name.trim(), mcp_server_url: url.trim() });
  };
  const shown = (field: keyof typeof wrong) => (tried ? wrong[field] : null);
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Address of the server" error={shown("url") ?? fields.mcp_server_url}>
          <Input
            type="url"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            placeholder="https://mcp.example.com/mcp"
            spellCheck={false}
            autoFocus
          />
        </Field>
        <Field label="Name" error={shown("name") ?? fields.name}>
          <Input value={name} onChange={(event) => setName(event.target.value)} maxLength={200} />
        </Field>
        <Field label="Id" hint="What agents call it." error={shown("id") ?? fields.provider_id}>
          <Input value={providerId} onChange={(event) => setId(event.target.value)} spellCheck={false} />
        </Field>
        <ErrorLine error={error} />
        <div className="row form-actions">
          <ButtonLink href="/connections/new">Back</ButtonLink>
          <Button type="submit" look="primary" busy={busy}>
            Find and add
          </Button>
        </div>
      </form>
    </Card>
  );
}

export function idFrom(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
