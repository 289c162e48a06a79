import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button, ErrorLine } from "../../../ui/index.ts";
import { type AgentServer, threadKey, useSchemas } from "../agent-api.ts";
import { type InputMode, inputModes, inputOf, nothingWritten } from "../composer-input.ts";
import { fieldsOf } from "../form/schema-fields.ts";
import { InputFields, ModeButtons } from "../input-fields.tsx";
import { startRun } from "../start-run.ts";

export type Target = { threadId: string; assistantId: string | undefined };

/** One input for both threads. The form is that of the assistant on the left. */
export function BothComposer({ server, targets }: { server: AgentServer; targets: readonly Target[] }) {
  const client = useQueryClient();
  const schemas = useSchemas(server, targets[0]?.assistantId);
  const fields = fieldsOf(schemas.data?.input_schema);
  const modes = inputModes(fields);
  const [chosen, setChosen] = useState<InputMode | null>(null);
  const mode = modes.find((each) => each === chosen) ?? modes[0]!;
  const [written, setWritten] = useState(nothingWritten);
  const [judged, setJudged] = useState(false);
  const { input, problems } = inputOf(mode, written, fields);
  const send = useMutation({
    mutationFn: () =>
      Promise.all(
        targets.map(({ threadId, assistantId }) =>
          startRun(server, threadId, { assistant_id: assistantId, input }),
        ),
      ),
    onSuccess: () => {
      setWritten(nothingWritten);
      setJudged(false);
    },
    // Also when one of the two was refused: the other runs.
    onSettled: () =>
      Promise.all(
        targets.map(({ threadId }) => client.invalidateQueries({ queryKey: threadKey(server, threadId) })),
      ),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setJudged(true);
    if (input !== undefined && !send.isPending) send.mutate();
  };
  return (
    <form className={`composer by-${mode}`} onSubmit={submit} noValidate>
      <InputFields
        mode={mode}
        fields={fields}
        written={written}
        problems={judged ? problems : {}}
        onChange={setWritten}
        onEnter={submit}
      />
      <ErrorLine error={send.error} />
      <div className="row composer-row">
        <ModeButtons modes={modes} mode={mode} onChange={setChosen} />
        <span className="spread" />
        <Button
          type="submit"
          look="primary"
          icon={Send}
          busy={send.isPending}
          disabled={mode !== "form" && input === undefined}
        >
          Send to both
        </Button>
      </div>
    </form>
  );
}
