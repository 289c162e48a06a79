import { Plus } from "lucide-react";
import { Route, Switch, useSearch } from "wouter";
import { ButtonLink, Page, PageHeader, Tabs } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { AccountsTab } from "./accounts-tab.tsx";
import { EventsTab } from "./events-tab.tsx";
import { NewProviderPage } from "./new-provider-page.tsx";
import { ProviderPage } from "./provider-page.tsx";
import { ProvidersTab } from "./providers-tab.tsx";
import "./connections.css";

const tabs = [
  { id: "accounts", label: "My accounts", href: "/connections" },
  { id: "providers", label: "Providers", href: "/connections?tab=providers" },
  { id: "events", label: "Events", href: "/connections?tab=events" },
] as const;

export default function ConnectionsPages() {
  return (
    <Switch>
      <Route path="/connections/new" component={NewProviderPage} />
      <Route path="/connections/providers/:id">
        {({ id }) => <ProviderPage providerId={decodeURIComponent(id)} />}
      </Route>
      <Route component={Overview} />
    </Switch>
  );
}

function Overview() {
  const wanted = new URLSearchParams(useSearch()).get("tab");
  const current = tabs.find(({ id }) => id === wanted)?.id ?? "accounts";
  const mayChange = useCan("editor");
  return (
    <Page title="Connections">
      <PageHeader
        title="Connections"
        description="The accounts agents may use on your behalf. They get an access token; the rest stays here."
        actions={
          mayChange &&
          current === "providers" && (
            <ButtonLink href="/connections/new" icon={Plus} look="primary">
              Add a provider
            </ButtonLink>
          )
        }
      />
      <Tabs label="Connections" tabs={tabs} current={current} />
      {current === "accounts" && <AccountsTab />}
      {current === "providers" && <ProvidersTab />}
      {current === "events" && <EventsTab />}
    </Page>
  );
}
