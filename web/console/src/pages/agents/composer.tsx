import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Send, Square } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button, ErrorLine, Select } from "../../ui/index.ts";
import { type AgentServer, type Assistant, apiOf, threadKey, threadPath, useSchemas } from "./agent-api.ts";
import { type InputMode, inputModes, inputOf, nothingWritten } from "./composer-input.ts";
import { fieldsOf } from "./form/schema-fields.ts";
import { InputFields, ModeButtons } from "./input-fields.tsx";
import { startRun } from "./start-run.ts";
import type { ThreadAddress } from "./use-thread-address.ts";

export type ComposerProps = {
  server: AgentServer;
  threadId: string;
  assistants: readonly Assistant[];
  assistantId: string | undefined;
  runId: string | null;
  address: ThreadAddress;
};

/** The state of a visit that begins with writing: a new thread has nothing to read yet. */
export const writeFirst = { writeFirst: true };

/** Sends words, a form of the graph's fields or any JSON to any assistant of the server, on this thread. */
export function Composer(props: ComposerProps) {
  const { server, threadId, assistants, assistantId, runId, address } = props;
  const { checkpointId } = address;
  const client = useQueryClient();
  const schemas = useSchemas(server, assistantId);
  const fields = fieldsOf(schemas.data?.input_schema);
  const modes = inputModes(fields);
  const [chosen, setChosen] = useState<InputMode | null>(null);
  const mode = modes.find((each) => each === chosen) ?? modes[0]!;
  const [written, setWritten] = useState(nothingWritten);
  const [judged, setJudged] = useState(false);
  const { input, problems } = inputOf(mode, written, fields);
  const ready = input !== undefined && assistantId !== undefined;
  const send = useMutation({
    mutationFn: (_written: typeof nothingWritten) =>
      startRun(server, threadId, {
        assistant_id: assistantId,
        input,
        checkpoint_id: checkpointId,
        stops: address.stops,
      }),
    onSuccess: (_run, sent) => {
      // What was typed meanwhile stays.
      setWritten((current) => (current === sent ? nothingWritten : current));
      setJudged(false);
      if (checkpointId) address.go({ checkpoint: null });
      // Not awaited: the next message may be sent before all of it is here.
      void client.invalidateQueries({ queryKey: threadKey(server, threadId) });
    },
  });
  const stop = useMutation({
    mutationFn: () =>
      apiOf(server).post(`${threadPath(server, threadId)}/runs/${runId}/cancel?action=interrupt`),
  });
  const { mutate, isPending } = send;
  // If Enter is pressed before the assistants are loaded, the message is sent once they are.
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked || !ready) return;
    setAsked(false);
    mutate(written);
  }, [asked, ready, mutate, written]);
  const form = useRef<HTMLFormElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another way of writing has other fields
  useEffect(() => {
    if (history.state?.writeFirst) form.current?.querySelector<HTMLElement>("textarea, input")?.focus();
  }, [mode]);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    setJudged(true);
    if (input !== undefined && !isPending) setAsked(true);
  };
  return (
    <form ref={form} className={`composer by-${mode}`} onSubmit={submit} noValidate>
      <InputFields
        mode={mode}
        fields={fields}
        written={written}
        problems={judged ? problems : {}}
        onChange={setWritten}
        onEnter={submit}
      />
      <ErrorLine error={send.error ?? stop.error} />
      <div className="row composer-row">
        <Select
          aria-label="Assistant"
          value={assistantId ?? ""}
          onChange={(event) => address.go({ assistant: event.target.value })}
          options={assistants.map(({ assistant_id, name }) => ({ value: assistant_id, label: name }))}
        />
        <ModeButtons modes={modes} mode={mode} onChange={setChosen} />
        <span className="spread" />
        {runId && (
          <Button icon={Square} busy={stop.isPending} onClick={() => stop.mutate()}>
            Stop
          </Button>
        )}
        <Button
          type="submit"
          look="primary"
          icon={Send}
          disabled={mode !== "form" && !ready}
          busy={isPending || asked}
        >
          {checkpointId ? "Send from here" : runId ? "Queue" : "Send"}
        </Button>
      </div>
    </form>
  );
}
