import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import {
  ConfirmDialog,
  CopyButton,
  ErrorState,
  IconButton,
  Page,
  PageHeader,
  Skeleton,
  Tabs,
  toast,
} from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import { addressWith } from "../address.ts";
import {
  type AgentServer,
  type Assistant,
  agentsCrumb,
  apiOf,
  assistantPath,
  useAssistant,
  useGraph,
} from "../agent-api.ts";
import { GraphView } from "../graph/graph-view.tsx";
import { noActivity } from "../graph/node-activity.ts";
import { AssistantForm } from "./assistant-form.tsx";
import { VersionsPanel } from "./versions-panel.tsx";
import "./assistants.css";

const parts = ["settings", "versions", "graph"] as const;
const titles = { settings: "Settings", versions: "Versions", graph: "Graph" } as const;

export type AssistantPageProps = { server: AgentServer; assistantId: string };

export function AssistantPage({ server, assistantId }: AssistantPageProps) {
  const assistant = useAssistant(server, assistantId);
  const [params] = useSearchParams();
  const mayChange = useCan("editor");
  const part = parts.find((name) => name === params.get("tab")) ?? "settings";
  const here = `/agents/${server.id}/assistants/${assistantId}`;
  const { data } = assistant;
  return (
    <Page title={data?.name ?? "Assistant"}>
      <PageHeader
        crumbs={[
          ...agentsCrumb,
          { label: server.name, href: `/agents/${server.id}` },
          { label: "Assistants", href: `/agents/${server.id}?tab=assistants` },
        ]}
        title={data?.name ?? "Assistant"}
        description={
          data && (
            <>
              Graph <code>{data.graph_id}</code>, version {data.version}{" "}
              <CopyButton text={data.assistant_id} label="Copy the assistant's id" />
            </>
          )
        }
        actions={data && mayChange && !isSystem(data) && <DeleteAssistant server={server} assistant={data} />}
      />
      {assistant.error && !data ? (
        <ErrorState error={assistant.error} retry={() => assistant.refetch()} />
      ) : data ? (
        <>
          <Tabs
            label={data.name}
            current={part}
            tabs={parts.map((id) => ({
              id,
              label: titles[id],
              href: addressWith(here, params, { tab: id }),
            }))}
          />
          {part === "settings" && <AssistantForm key={data.version} server={server} assistant={data} />}
          {part === "versions" && <VersionsPanel server={server} assistant={data} />}
          {part === "graph" && <AssistantGraph server={server} assistant={data} />}
        </>
      ) : (
        <Skeleton lines={5} height="3rem" />
      )}
    </Page>
  );
}

/** The server keeps one for each graph, and creates it again when it is deleted. */
const isSystem = ({ metadata }: Assistant) => metadata?.created_by === "system";

function AssistantGraph({ server, assistant }: { server: AgentServer; assistant: Assistant }) {
  const graph = useGraph(server, assistant.assistant_id);
  const [selected, setSelected] = useState<string | null>(null);
  if (graph.error && !graph.data) return <ErrorState error={graph.error} retry={() => graph.refetch()} />;
  if (!graph.data) return <Skeleton lines={4} height="3rem" />;
  return (
    <div className="card assistant-graph">
      <GraphView
        graph={graph.data}
        label={`Graph of ${assistant.name}`}
        activity={noActivity}
        next={[]}
        stops={{ before: [], after: [] }}
        selected={selected}
        onSelect={setSelected}
      />
    </div>
  );
}

function DeleteAssistant({ server, assistant }: { server: AgentServer; assistant: Assistant }) {
  const [asked, setAsked] = useState(false);
  const [, navigate] = useLocation();
  return (
    <>
      <IconButton label="Delete this assistant" icon={Trash2} onClick={() => setAsked(true)} />
      {asked && (
        <ConfirmDialog
          title={`Delete ${assistant.name}?`}
          action="Delete the assistant"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            await apiOf(server).delete(assistantPath(server, assistant.assistant_id));
            toast.good("The assistant is deleted.");
            navigate(`/agents/${server.id}?tab=assistants`);
          }}
        >
          Its versions and its runs are deleted with it. Threads stay.
        </ConfirmDialog>
      )}
    </>
  );
}
