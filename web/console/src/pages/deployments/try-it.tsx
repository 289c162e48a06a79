import { MessagesSquare, Workflow } from "lucide-react";
import { ButtonLink, Card, ErrorLine, Section, Skeleton } from "../../ui/index.ts";
import { serverOf, useAssistants } from "../agents/agent-api.ts";
import type { Deployment } from "./deployment-api.ts";
import { chatHref, graphNames } from "./try-links.ts";

const shownAtMost = 8;

/** The graphs of a deployment that serves; undefined until its server has named them. */
export function useGraphNames(deployment: Deployment): { graphs: string[] | undefined; error: unknown } {
  const { data, error } = useAssistants(serverOf(deployment));
  return { graphs: data && graphNames(data), error };
}

/** From the deployment to talking with it: its graphs by their own names. */
export function TryIt({ deployment }: { deployment: Deployment }) {
  return (
    <Section
      title="Try it"
      actions={
        <ButtonLink href={`/agents/${deployment.id}`} icon={Workflow} size="small">
          Open in studio
        </ButtonLink>
      }
    >
      <Card>
        <Graphs deployment={deployment} />
      </Card>
    </Section>
  );
}

function Graphs({ deployment }: { deployment: Deployment }) {
  const { graphs, error } = useGraphNames(deployment);
  if (graphs === undefined)
    return error ? <ErrorLine error={error} /> : <Skeleton lines={1} height="2.4rem" />;
  const more = graphs.length - shownAtMost;
  return (
    <>
      <ul className="try-list">
        {graphs.slice(0, shownAtMost).map((graph, index) => (
          <li key={graph}>
            <code className="break">{graph}</code>
            <a
              className={index === 0 ? "button primary" : "button"}
              href={chatHref(deployment.id, graph)}
              aria-label={`Try it: ${graph} in the chat`}
            >
              <MessagesSquare aria-hidden="true" size={16} />
              Try it
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="muted">{more} more in the studio.</p>}
    </>
  );
}
