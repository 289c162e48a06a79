import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { Button, ErrorLine, Field, Input, Select, Skeleton, toast } from "../../../ui/index.ts";
import { useCan } from "../../../workspace.tsx";
import {
  type AgentServer,
  type Assistant,
  apiOf,
  assistantPath,
  useAssistants,
  useSchemas,
} from "../agent-api.ts";
import { readForm } from "../form/schema-fields.ts";
import { SchemaForm } from "../form/schema-form.tsx";
import { type Settings, settingsBody, settingsOf, settingsTexts } from "./settings.ts";

const nothingKept = { config: {}, context: {} };

/** What an assistant is made of. Saving makes a version; earlier ones stay. */
export function AssistantForm({ server, assistant }: { server: AgentServer; assistant: Assistant }) {
  const schemas = useSchemas(server, assistant.assistant_id);
  if (schemas.isPending) return <Skeleton lines={4} height="3rem" />;
  return (
    <>
      <ErrorLine error={schemas.error} />
      <Fields
        server={server}
        assistant={assistant}
        graphId={assistant.graph_id}
        settings={settingsOf(schemas.data, assistant)}
      />
    </>
  );
}

/** A new assistant: first the graph, then what its graph takes. */
export function NewAssistantForm({ server }: { server: AgentServer }) {
  const assistants = useAssistants(server);
  const graphs = [...new Set((assistants.data ?? []).map(({ graph_id }) => graph_id))];
  const [chosen, setChosen] = useState<string | null>(null);
  const graphId = chosen ?? graphs[0];
  const schemas = useSchemas(server, graphId);
  if (assistants.isPending) return <Skeleton lines={4} height="3rem" />;
  return (
    <div className="stack assistant-form">
      <ErrorLine error={assistants.error ?? schemas.error} />
      <Field label="Graph">
        <Select
          value={graphId ?? ""}
          onChange={(event) => setChosen(event.target.value)}
          options={graphs.map((graph) => ({ value: graph, label: graph }))}
        />
      </Field>
      {graphId && schemas.data && (
        <Fields
          key={graphId}
          server={server}
          assistant={null}
          graphId={graphId}
          settings={settingsOf(schemas.data, nothingKept)}
        />
      )}
    </div>
  );
}

type FieldsProps = { server: AgentServer; assistant: Assistant | null; graphId: string; settings: Settings };

function Fields({ server, assistant, graphId, settings }: FieldsProps) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const mayChange = useCan("editor");
  const [name, setName] = useState(assistant?.name ?? "");
  const [description, setDescription] = useState(assistant?.description ?? "");
  const [texts, setTexts] = useState(() => settingsTexts(settings));
  const [judged, setJudged] = useState(false);
  const { values, problems } = readForm(settings.fields, texts);
  const nameProblem = name.trim() === "" ? "An assistant needs a name." : null;
  const save = useMutation({
    mutationFn: () => {
      const body = {
        name: name.trim(),
        description: description.trim() || null,
        ...settingsBody(settings, assistant ?? nothingKept, values),
      };
      return assistant
        ? apiOf(server).patch<Assistant>(assistantPath(server, assistant.assistant_id), body)
        : apiOf(server).post<Assistant>(`${server.base}/assistants`, { graph_id: graphId, ...body });
    },
    onSuccess: async (saved) => {
      toast.good(assistant ? `Saved as version ${saved.version}.` : `${saved.name} is made.`);
      await client.invalidateQueries({ queryKey: ["threads", server.id, "assistants"] });
      if (!assistant) navigate(`/agents/${server.id}/assistants/${saved.assistant_id}`);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setJudged(true);
    if (!nameProblem && Object.keys(problems).length === 0) return save.mutate();
    const form = event.currentTarget;
    // The marks appear with the next draw.
    requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  return (
    <form className="stack assistant-form" onSubmit={submit} noValidate>
      <Field label="Name" error={judged ? nameProblem : null}>
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Description" optional>
        <Input value={description} onChange={(event) => setDescription(event.target.value)} />
      </Field>
      {settings.fields.length > 0 ? (
        <fieldset className="assistant-settings">
          <legend>The input of the graph</legend>
          <SchemaForm
            fields={settings.fields}
            texts={texts}
            problems={judged ? problems : {}}
            onChange={setTexts}
          />
        </fieldset>
      ) : (
        <p className="muted">This graph declares no settings: all its assistants behave alike.</p>
      )}
      <ErrorLine error={save.error} />
      {mayChange && (
        <div className="row">
          <Button type="submit" look="primary" busy={save.isPending}>
            {assistant ? "Save as a new version" : "Make the assistant"}
          </Button>
        </div>
      )}
    </form>
  );
}
