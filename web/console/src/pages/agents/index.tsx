import { Route, Switch } from "wouter";
import { ErrorState, Page, PageHeader, Skeleton } from "../../ui/index.ts";
import { type AgentServer, useServer } from "./agent-api.ts";
import { AssistantPage } from "./assistants/assistant-page.tsx";
import { NewAssistantPage } from "./assistants/new-assistant-page.tsx";
import { ComparePage } from "./compare/compare-page.tsx";
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
      <Route path="/agents/:server/compare">
        {({ server }) => (
          <WithServer key={server} id={server}>
            {(found) => <ComparePage server={found} />}
          </WithServer>
        )}
      </Route>
      <Route path="/agents/:server/assistants/new">
        {({ server }) => (
          <WithServer key={server} id={server}>
            {(found) => <NewAssistantPage server={found} />}
          </WithServer>
        )}
      </Route>
      <Route path="/agents/:server/assistants/:assistant">
        {({ server, assistant }) => (
          <WithServer key={server} id={server}>
            {(found) => <AssistantPage key={assistant} server={found} assistantId={assistant} />}
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
