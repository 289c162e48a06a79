import { Cable, Settings2 } from "lucide-react";
import { useState } from "react";
import { Link, useSearch } from "wouter";
import { EmptyState, ListState, Page, PageHeader, SearchInput } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Template, useTemplates } from "./connections-api.ts";
import { CustomProviderForm } from "./custom-provider-form.tsx";
import { McpProviderForm } from "./mcp-provider-form.tsx";
import { TemplateProviderForm } from "./template-provider-form.tsx";

const home = { label: "Connections", href: "/connections?tab=providers" };
const catalogue = { label: "Add a provider", href: "/connections/new" };

/** First which service, then what it takes: `?template=github`, `?kind=mcp`, `?kind=custom`. */
export function NewProviderPage() {
  const asked = new URLSearchParams(useSearch());
  const templates = useTemplates();
  const template = templates.data?.find(({ id }) => id === asked.get("template"));
  if (!useCan("editor")) {
    return (
      <Page title="Add a provider">
        <PageHeader title="Add a provider" crumbs={[home]} />
        <EmptyState title="Your key can only read">
          Providers are added with a key of the role editor.
        </EmptyState>
      </Page>
    );
  }
  if (template) {
    return (
      <Page title={`Add ${template.name}`} width="narrow">
        <PageHeader title={`Add ${template.name}`} crumbs={[home, catalogue]} />
        <TemplateProviderForm key={template.id} template={template} />
      </Page>
    );
  }
  const kind = asked.get("kind");
  if (kind === "mcp") {
    return (
      <Page title="Add an MCP server" width="narrow">
        <PageHeader
          title="Add an MCP server"
          crumbs={[home, catalogue]}
          description="Treadle reads its metadata and registers itself there."
        />
        <McpProviderForm />
      </Page>
    );
  }
  if (kind === "custom") {
    return (
      <Page title="Add another provider" width="narrow">
        <PageHeader
          title="Add another provider"
          crumbs={[home, catalogue]}
          description="Any OAuth 2 server: its documentation has these addresses."
        />
        <CustomProviderForm redirectBase={redirectBase(templates.data ?? [])} />
      </Page>
    );
  }
  return (
    <Page title="Add a provider">
      <PageHeader
        title="Add a provider"
        crumbs={[home]}
        description="Where people have accounts that agents should use."
      />
      <ListState of={templates} rows={templates.data} lines={4} height="4rem">
        {(rows) => <Catalogue templates={rows} />}
      </ListState>
    </Page>
  );
}

function Catalogue({ templates }: { templates: readonly Template[] }) {
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const found = templates.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
  return (
    <div className="stack">
      <SearchInput value={search} onChange={setSearch} label="Search the services" />
      <ul className="catalogue">
        {found.map(({ id, name }) => (
          <li key={id}>
            <Link href={`/connections/new?template=${id}`}>
              <span className="monogram" aria-hidden="true">
                {name.charAt(0)}
              </span>
              <span className="account">
                <b>{name}</b>
                <span className="muted small">Client id and secret</span>
              </span>
            </Link>
          </li>
        ))}
        <li>
          <Link href="/connections/new?kind=mcp">
            <span className="monogram" aria-hidden="true">
              <Cable size={17} />
            </span>
            <span className="account">
              <b>An MCP server</b>
              <span className="muted small">Its address is enough</span>
            </span>
          </Link>
        </li>
        <li>
          <Link href="/connections/new?kind=custom">
            <span className="monogram" aria-hidden="true">
              <Settings2 size={17} />
            </span>
            <span className="account">
              <b>Another OAuth 2 server</b>
              <span className="muted small">With its addresses</span>
            </span>
          </Link>
        </li>
      </ul>
    </div>
  );
}

/** What every redirect URI of this server begins with; the server knows its own address, the browser may not. */
export function redirectBase(templates: readonly Template[]): string {
  const [first] = templates;
  return first
    ? first.default_redirect_uri.slice(0, -first.id.length)
    : `${location.origin}/host-oauth-callback/`;
}
