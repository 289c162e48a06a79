import { Page, PageHeader } from "../../../ui/index.ts";
import { type AgentServer, agentsCrumb } from "../agent-api.ts";
import { NewAssistantForm } from "./assistant-form.tsx";
import "./assistants.css";

export function NewAssistantPage({ server }: { server: AgentServer }) {
  return (
    <Page title="New assistant" width="narrow">
      <PageHeader
        crumbs={[
          ...agentsCrumb,
          { label: server.name, href: `/agents/${server.id}` },
          { label: "Assistants", href: `/agents/${server.id}?tab=assistants` },
        ]}
        title="New assistant"
        description="A graph with its own settings and name."
      />
      <NewAssistantForm server={server} />
    </Page>
  );
}
