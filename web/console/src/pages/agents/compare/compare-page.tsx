import { useMutation } from "@tanstack/react-query";
import { useLocation, useSearchParams } from "wouter";
import { ApiError } from "../../../api/client.ts";
import { Button, ErrorState, Page, PageHeader, Skeleton } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { addressWith } from "../address.ts";
import {
  type AgentServer,
  agentsCrumb,
  apiOf,
  compareHref,
  type Thread,
  useAssistants,
} from "../agent-api.ts";
import { preferredAssistant } from "../preferred-assistant.ts";
import { BothComposer } from "./both-composer.tsx";
import { CompareColumn } from "./compare-column.tsx";
import "./compare.css";

/** Two threads beside each other, and one input for both: two assistants, or two settings, on the same question. */
export function ComparePage({ server }: { server: AgentServer }) {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const assistants = useAssistants(server);
  const mayRun = useCan("editor");
  const here = `/agents/${server.id}/compare`;
  const first = preferredAssistant(assistants.data ?? []);
  const sides = (["left", "right"] as const).map((side) => ({
    side,
    threadId: params.get(side),
    assistantId: params.get(`${side}_assistant`) ?? first?.assistant_id,
  }));
  const [left, right] = sides.map(({ threadId }) => threadId);
  return (
    <Page title="Compare" width="full">
      <PageHeader
        crumbs={[...agentsCrumb, { label: server.name, href: `/agents/${server.id}` }]}
        title="Two threads, one input"
      />
      {assistants.error && !assistants.data ? (
        <ErrorState error={assistants.error} retry={() => assistants.refetch()} />
      ) : !left || !right ? (
        <NewPair server={server} />
      ) : assistants.data ? (
        <div className="compare">
          <div className="compare-columns">
            {sides.map(({ side, threadId, assistantId }) => (
              <CompareColumn
                key={`${side} ${threadId}`}
                side={side}
                server={server}
                threadId={threadId!}
                assistants={assistants.data}
                assistantId={assistantId}
                onChoose={(id) => navigate(addressWith(here, params, { [`${side}_assistant`]: id }))}
              />
            ))}
          </div>
          {mayRun && (
            <BothComposer
              server={server}
              targets={sides.map(({ threadId, assistantId }) => ({ threadId: threadId!, assistantId }))}
            />
          )}
        </div>
      ) : (
        <Skeleton lines={5} height="3rem" />
      )}
    </Page>
  );
}

function NewPair({ server }: { server: AgentServer }) {
  const [, navigate] = useLocation();
  const begin = useMutation({
    mutationFn: async () => {
      const make = () => apiOf(server).post<Thread>(`${server.base}/threads`, {});
      const [left, right] = await Promise.all([make(), make()]);
      if (!left || !right) throw new ApiError(0, "The threads could not be created. Try again.");
      return compareHref(server, left.thread_id, right.thread_id);
    },
    onSuccess: (href) => navigate(href, { replace: true }),
  });
  return (
    <div className="stack">
      <p>Two new threads are created, and both get what you write.</p>
      <div className="row">
        <Button look="primary" busy={begin.isPending} onClick={() => begin.mutate()}>
          Start two new threads
        </Button>
      </div>
      {begin.error && <ErrorState error={begin.error} />}
    </div>
  );
}
