import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Braces, Send, Square } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Button, ErrorLine, Select, Textarea } from "../../ui/index.ts";
import { type AgentServer, type Assistant, apiOf, threadKey, threadPath } from "./agent-api.ts";
import { startRun } from "./start-run.ts";

export type ComposerProps = {
  server: AgentServer;
  threadId: string;
  assistants: readonly Assistant[];
  lastAssistant: string | undefined;
  runId: string | null;
  checkpointId: string | null;
  here: string;
};

/** Sends words (or any JSON input) to any assistant of the server, on this thread. */
export function Composer(props: ComposerProps) {
  const { server, threadId, assistants, runId, checkpointId, here } = props;
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const [chosen, setChosen] = useState<string | null>(null);
  const [text, setText] = useState("");
  const [asJson, setAsJson] = useState(false);
  const assistantId = chosen ?? props.lastAssistant ?? preferred(assistants);
  const input = asJson ? readJson(text) : { messages: [{ role: "user", content: text.trim() }] };
  const ready = text.trim() !== "" && input !== undefined && assistantId !== undefined;
  const send = useMutation({
    mutationFn: () =>
      startRun(server, threadId, { assistant_id: assistantId, input, checkpoint_id: checkpointId }),
    onSuccess: async () => {
      setText("");
      if (checkpointId) navigate(here);
      await client.invalidateQueries({ queryKey: threadKey(server, threadId) });
    },
  });
  const stop = useMutation({
    mutationFn: () =>
      apiOf(server).post(`${threadPath(server, threadId)}/runs/${runId}/cancel?action=interrupt`),
  });
  const { mutate, isPending } = send;
  // Whoever types faster than the assistants are loaded is not made to press Enter again.
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked || !ready) return;
    setAsked(false);
    mutate();
  }, [asked, ready, mutate]);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() !== "" && input !== undefined && !isPending) setAsked(true);
  };
  return (
    <form className="composer" onSubmit={submit}>
      <Textarea
        rows={asJson ? 5 : 2}
        aria-label={asJson ? "Input as JSON" : "Message"}
        placeholder={
          asJson ? '{"messages": [{"role": "user", "content": "…"}]}' : "Write a message; Enter sends it"
        }
        className={asJson ? "mono" : ""}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || asJson || event.nativeEvent.isComposing) return;
          submit(event);
        }}
      />
      {asJson && text.trim() !== "" && input === undefined && (
        <p className="field-error">This is not JSON yet. Strings need double quotes.</p>
      )}
      <ErrorLine error={send.error ?? stop.error} />
      <div className="row composer-row">
        <Select
          aria-label="Assistant"
          value={assistantId ?? ""}
          onChange={(event) => setChosen(event.target.value)}
          options={assistants.map(({ assistant_id, name }) => ({ value: assistant_id, label: name }))}
        />
        <Button
          look="quiet"
          size="small"
          icon={Braces}
          aria-pressed={asJson}
          onClick={() => setAsJson(!asJson)}
        >
          JSON
        </Button>
        <span className="spread" />
        {runId && (
          <Button icon={Square} busy={stop.isPending} onClick={() => stop.mutate()}>
            Stop
          </Button>
        )}
        <Button type="submit" look="primary" icon={Send} disabled={!ready} busy={isPending || asked}>
          {checkpointId ? "Send from here" : runId ? "Queue" : "Send"}
        </Button>
      </div>
    </form>
  );
}

function preferred(assistants: readonly Assistant[]): string | undefined {
  return (assistants.find(({ graph_id }) => graph_id === "agent") ?? assistants[0])?.assistant_id;
}

/** Undefined for what is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Half-typed: the field shows it.
    return undefined;
  }
}
