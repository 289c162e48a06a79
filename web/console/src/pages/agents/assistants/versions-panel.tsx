import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Badge, Button, ErrorLine, ListState, Time, toast } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import {
  type AgentServer,
  type Assistant,
  type AssistantVersion,
  apiOf,
  assistantPath,
} from "../agent-api.ts";
import { ChangeList } from "../history/change-list.tsx";
import { diffState } from "../history/state-diff.ts";

const versionsShown = 100;

/** Every version with what it changed; any of them can be made the one that runs. */
export function VersionsPanel({ server, assistant }: { server: AgentServer; assistant: Assistant }) {
  const client = useQueryClient();
  const mayChange = useCan("editor");
  const path = assistantPath(server, assistant.assistant_id);
  const versions = useQuery({
    queryKey: ["threads", server.id, "assistants", assistant.assistant_id, "versions", assistant.version],
    queryFn: ({ signal }) =>
      apiOf(server).post<AssistantVersion[]>(`${path}/versions`, { limit: versionsShown }, { signal }),
  });
  const setLatest = useMutation({
    mutationFn: (version: number) => apiOf(server).post<Assistant>(`${path}/latest`, { version }),
    onSuccess: async ({ version }) => {
      toast.good(`Version ${version} runs from now on.`);
      await client.invalidateQueries({ queryKey: ["threads", server.id, "assistants"] });
    },
  });
  return (
    <ListState of={versions} rows={versions.data} lines={3} height="4rem">
      {(rows) => (
        <>
          <ErrorLine error={setLatest.error} />
          <ol className="versions">
            {rows.map((row, index) => (
              <li key={row.version} className="card">
                <header className="row">
                  <h2>Version {row.version}</h2>
                  {row.version === assistant.version && <Badge tone="good">Runs now</Badge>}
                  <span className="muted">
                    <Time at={row.created_at} />
                  </span>
                  <span className="spread" />
                  {mayChange && row.version !== assistant.version && (
                    <Button
                      size="small"
                      busy={setLatest.isPending && setLatest.variables === row.version}
                      onClick={() => setLatest.mutate(row.version)}
                    >
                      Use version {row.version}
                    </Button>
                  )}
                </header>
                <VersionChanges version={row} before={rows[index + 1]} />
              </li>
            ))}
          </ol>
        </>
      )}
    </ListState>
  );
}

function VersionChanges({
  version,
  before,
}: {
  version: AssistantVersion;
  before: AssistantVersion | undefined;
}) {
  if (!before) return <p className="muted">The first version.</p>;
  const changes = diffState(comparable(before), comparable(version));
  if (changes.length === 0) return <p className="muted">The same as version {before.version}.</p>;
  return <ChangeList changes={changes} />;
}

function comparable({ name, description, graph_id, config, context, metadata }: AssistantVersion) {
  return { name, description: description ?? undefined, graph_id, config, context, metadata };
}
