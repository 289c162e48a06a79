import { useMutation } from "@tanstack/react-query";
import { Columns2, MessageSquarePlus, Rocket } from "lucide-react";
import { useLocation, useSearchParams } from "wouter";
import { Button, ButtonLink, ErrorLine, Page, PageHeader, Tabs } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type AgentServer, agentsCrumb, apiOf, type Thread, threadHref } from "./agent-api.ts";
import { AssistantsTab } from "./assistants/assistants-tab.tsx";
import { writeFirst } from "./composer.tsx";
import { ThreadsTab } from "./threads-tab.tsx";

export function ServerPage({ server }: { server: AgentServer }) {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const mayRun = useCan("editor");
  const tab = params.get("tab") === "assistants" ? "assistants" : "threads";
  const create = useMutation({
    mutationFn: () => apiOf(server).post<Thread>(`${server.base}/threads`, {}),
    onSuccess: ({ thread_id }) => navigate(threadHref(server, thread_id), { state: writeFirst }),
  });
  const here = `/agents/${server.id}`;
  return (
    <Page title={server.name}>
      <PageHeader
        crumbs={agentsCrumb}
        title={server.name}
        actions={
          <>
            {server.deployment !== null && (
              <ButtonLink href={`/deployments/${server.id}`} icon={Rocket}>
                Deployment
              </ButtonLink>
            )}
            {mayRun && (
              <>
                <ButtonLink href={`${here}/compare`} icon={Columns2}>
                  Compare
                </ButtonLink>
                <Button
                  look="primary"
                  icon={MessageSquarePlus}
                  busy={create.isPending}
                  onClick={() => create.mutate()}
                >
                  New thread
                </Button>
              </>
            )}
          </>
        }
      />
      <ErrorLine error={create.error} />
      <Tabs
        label={server.name}
        current={tab}
        tabs={[
          { id: "threads", label: "Threads", href: here },
          { id: "assistants", label: "Assistants", href: `${here}?tab=assistants` },
        ]}
      />
      {tab === "threads" ? <ThreadsTab server={server} /> : <AssistantsTab server={server} />}
    </Page>
  );
}
