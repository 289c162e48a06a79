import { Route, Switch } from "wouter";
import { ErrorState, Page, PageHeader, Skeleton } from "../../ui/index.ts";
import { type AgentServer, useServer } from "./agent-api.ts";
import { ServerPage } from "./server-page.tsx";
import { ServersPage } from "./servers-page.tsx";
import { ThreadPage } from "./thread-page.tsx";
import "./agents.css";

export default function AgentsPages() {
  return (
    <Switch>
      <Route path="/agents" component={ServersPage} />
      <Route path="/agents/:server">
        {({ server }) => (
          <WithServer key={server} id={server}>
            {(found) => <ServerPage server={found} />}
          </WithServer>
        )}
      </Route>
      <Route path="/agents/:server/threads/:thread">
        {({ server, thread }) => (
          <WithServer key={server} id={server}>
            {(found) => <ThreadPage key={thread} server={found} threadId={thread} />}
          </WithServer>
        )}
      </Route>
    </Switch>
  );
}

function WithServer({ id, children }: { id: string; children(server: AgentServer): React.ReactNode }) {
  const server = useServer(id);
  if (server.data) return children(server.data);
  return (
    <Page title="Agents">
      <PageHeader title="Agents" crumbs={[{ label: "Agents", href: "/agents" }]} />
      {server.error ? (
        <ErrorState error={server.error} retry={() => server.refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </Page>
  );
}
