import { Hourglass } from "lucide-react";
import { Route, Switch } from "wouter";
import { ButtonLink, EmptyState, ErrorState, Page, PageHeader, Skeleton } from "../../ui/index.ts";
import { neverServed } from "../deployments/deployment-api.ts";
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
  if (server.data?.deployment && neverServed(server.data.deployment))
    return <NeverServed server={server.data} />;
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

/** Whoever kept the address: nothing would answer here. */
function NeverServed({ server: { id, name } }: { server: AgentServer }) {
  return (
    <Page title={name}>
      <PageHeader title={name} crumbs={[{ label: "Agents", href: "/agents" }]} />
      <EmptyState
        icon={Hourglass}
        title="It has never served"
        action={<ButtonLink href={`/deployments/${id}`}>Open the deployment</ButtonLink>}
      >
        There is no server to talk to yet. The deployment says what its newest revision does, and what to do
        next.
      </EmptyState>
    </Page>
  );
}
