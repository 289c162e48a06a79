import { Button, ButtonLink, Card, ErrorLine, Field, Input, useForm } from "../../ui/index.ts";
import { isWebAddress } from "./open-consent.ts";
import { useNewProvider, wrongProviderId } from "./use-new-provider.ts";

const start = {
  mcp_server_url: "",
  name: "",
  /** Until it is typed it follows from the name. */
  provider_id: null as string | null,
};
type Values = typeof start;

const idOf = ({ provider_id, name }: Values) => provider_id ?? idFrom(name);

function check(values: Values) {
  return {
    mcp_server_url: isWebAddress(values.mcp_server_url.trim())
      ? null
      : "Write the whole address, for example https://mcp.example.com/mcp.",
    name: values.name.trim() === "" ? "Give it a name that people know." : null,
    provider_id: wrongProviderId(idOf(values)),
  };
}

/** The server's address; everything else is asked of it. */
export function McpProviderForm() {
  const { create, busy, fields, error } = useNewProvider("/v2/auth/providers/mcp-discover");
  const { values, text, problem, submit } = useForm({
    start,
    check,
    refused: fields,
    judge: "when sent",
    send: (typed) =>
      create({
        provider_id: idOf(typed),
        name: typed.name.trim(),
        mcp_server_url: typed.mcp_server_url.trim(),
      }),
  });
  return (
    <Card>
      <form className="stack" onSubmit={submit} noValidate>
        <Field label="Address of the server" error={problem("mcp_server_url")}>
          <Input
            type="url"
            {...text("mcp_server_url")}
            placeholder="https://mcp.example.com/mcp"
            spellCheck={false}
            autoFocus
          />
        </Field>
        <Field label="Name" error={problem("name")}>
          <Input {...text("name")} maxLength={200} />
        </Field>
        <Field label="Id" hint="What agents call it." error={problem("provider_id")}>
          <Input {...text("provider_id")} value={idOf(values)} spellCheck={false} />
        </Field>
        <ErrorLine error={error} />
        <div className="row">
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
