import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Pencil } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button, ErrorLine, Field, Select, Textarea, toast } from "../../../ui/index.ts";
import { JsonView } from "../../../ui/json-view.tsx";
import { useCan } from "../../../workspace.tsx";
import { type AgentServer, apiOf, type ThreadState, threadKey, threadPath, useGraph } from "../agent-api.ts";
import { readJson } from "../read-json.ts";
import type { ThreadAddress } from "../use-thread-address.ts";
import { updateOf } from "./state-update.ts";

export type StatePanelProps = {
  server: AgentServer;
  threadId: string;
  assistantId: string | undefined;
  state: ThreadState;
  busy: boolean;
  address: ThreadAddress;
};

/** The state at the checkpoint that is shown; edited, it is the beginning of a new branch. */
export function StatePanel(props: StatePanelProps) {
  const [editing, setEditing] = useState(false);
  const mayEdit = useCan("editor");
  const hasCheckpoint = Boolean(props.state.checkpoint?.checkpoint_id);
  if (editing) return <StateForm {...props} onClose={() => setEditing(false)} />;
  return (
    <div className="stack state-panel">
      {mayEdit && hasCheckpoint && (
        <div className="row">
          <Button size="small" icon={Pencil} disabled={props.busy} onClick={() => setEditing(true)}>
            Edit the values
          </Button>
          {props.busy && <span className="muted">when the run is over</span>}
        </div>
      )}
      <JsonView label="the state" value={props.state} open={2} />
    </div>
  );
}

function StateForm(props: StatePanelProps & { onClose(): void }) {
  const { server, threadId, assistantId, state, address, onClose } = props;
  const client = useQueryClient();
  const [text, setText] = useState(() => JSON.stringify(state.values, null, 2));
  const [asNode, setAsNode] = useState("");
  const edited = readJson(text);
  const isFields = edited !== null && typeof edited === "object" && !Array.isArray(edited);
  const update = isFields ? updateOf(state.values, edited as Record<string, unknown>) : {};
  const changes = Object.keys(update);
  const save = useMutation({
    mutationFn: () =>
      apiOf(server).post(`${threadPath(server, threadId)}/state`, {
        values: update,
        checkpoint_id: state.checkpoint.checkpoint_id,
        ...(asNode === "" ? {} : { as_node: asNode }),
      }),
    onSuccess: async () => {
      toast.good("The state is changed. The earlier state is still in the history.");
      address.go({ checkpoint: null, panel: "history" });
      onClose();
      await client.invalidateQueries({ queryKey: threadKey(server, threadId) });
    },
  });
  const field = useRef<HTMLTextAreaElement>(null);
  // The button that opened the form is gone.
  useEffect(() => field.current?.focus(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (changes.length > 0) save.mutate();
  };
  return (
    <form className="stack state-panel" onSubmit={submit}>
      <Field
        label="Values"
        hint="A checkpoint is created after this one; the thread continues from there."
        error={
          edited === undefined
            ? "This is not JSON yet."
            : isFields
              ? null
              : "The values must be an object: {…}."
        }
      >
        <Textarea
          ref={field}
          className="mono"
          rows={14}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      {assistantId && (
        <NodeChoice server={server} assistantId={assistantId} value={asNode} onChange={setAsNode} />
      )}
      <ErrorLine error={save.error} />
      <div className="row">
        <Button type="submit" look="primary" busy={save.isPending} disabled={changes.length === 0}>
          {address.checkpointId ? "Fork from here" : "Change the state"}
        </Button>
        <Button onClick={onClose}>Cancel</Button>
        <span className="muted">{isFields && changeWords(update, edited as Record<string, unknown>)}</span>
      </div>
    </form>
  );
}

/** A field that is left out gets removed, so the form says so first. */
function changeWords(update: Record<string, unknown>, edited: Record<string, unknown>): string {
  const [kept, gone] = [true, false].map((is) => Object.keys(update).filter((name) => name in edited === is));
  return [
    kept!.length > 0 && `Changes ${kept!.join(", ")}.`,
    gone!.length > 0 && `Removes ${gone!.join(", ")}.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function NodeChoice({
  server,
  assistantId,
  value,
  onChange,
}: {
  server: AgentServer;
  assistantId: string;
  value: string;
  onChange(node: string): void;
}) {
  const graph = useGraph(server, assistantId);
  const names = [...new Set((graph.data?.nodes ?? []).map(({ id }) => String(id).split(":")[0]!))];
  const options = names.filter((name) => name !== "__end__").map((name) => ({ value: name, label: name }));
  return (
    <Field label="As if this node had returned it" hint="It decides what runs next.">
      <Select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        options={[{ value: "", label: "The node that ran last" }, ...options]}
      />
    </Field>
  );
}
