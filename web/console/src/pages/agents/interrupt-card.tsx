import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Check, ExternalLink, Hand, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button, Card, ErrorLine, Field, Textarea } from "../../ui/index.ts";
import { JsonView } from "../../ui/json-view.tsx";
import { type AgentServer, type Interrupt, threadKey } from "./agent-api.ts";
import { startRun } from "./start-run.ts";

type ActionRequest = { name: string; args?: unknown; description?: string };

/** A run has stopped and asks a person: to approve actions, to connect an account, or anything else. */
export function InterruptCard({
  server,
  threadId,
  interrupts,
  assistantId,
}: {
  server: AgentServer;
  threadId: string;
  interrupts: readonly Interrupt[];
  assistantId: string | undefined;
}) {
  const client = useQueryClient();
  const answer = useMutation({
    mutationFn: (given: unknown) =>
      startRun(server, threadId, {
        assistant_id: assistantId,
        command: { resume: keyed(interrupts, given) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: threadKey(server, threadId) }),
  });
  const asked = interrupts[0]?.value;
  const actions = actionsOf(asked);
  const link = linkOf(asked);
  return (
    <Card className="interrupt">
      <h2>
        <Hand aria-hidden="true" size={16} /> The run waits for you
      </h2>
      {actions ? (
        actions.map(({ name, description, args }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list identifies them
          <div key={index}>
            <p>{description ?? `It wants to use ${name}.`}</p>
            <JsonView label={`arguments of ${name}`} value={args ?? {}} open={2} />
          </div>
        ))
      ) : typeof asked === "string" ? (
        <p>{asked}</p>
      ) : (
        <JsonView label="what it asks" value={asked} open={3} />
      )}
      {link && (
        <p>
          <a className="button primary normal" href={link} target="_blank" rel="noreferrer">
            <ExternalLink aria-hidden="true" size={16} /> Connect the account
          </a>
        </p>
      )}
      {actions ? (
        <div className="row">
          <Button
            look="primary"
            icon={Check}
            busy={answer.isPending}
            onClick={() => answer.mutate({ decisions: actions.map(() => ({ type: "approve" })) })}
          >
            Approve
          </Button>
          <Button
            icon={X}
            disabled={answer.isPending}
            onClick={() => answer.mutate({ decisions: actions.map(() => ({ type: "reject" })) })}
          >
            Reject
          </Button>
        </div>
      ) : (
        <AnswerForm busy={answer.isPending} onAnswer={answer.mutate} />
      )}
      <ErrorLine error={answer.error} />
    </Card>
  );
}

function AnswerForm({ busy, onAnswer }: { busy: boolean; onAnswer(answer: unknown): void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAnswer(jsonOrText(text));
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field label="Your answer" hint="Words, or JSON when the graph expects data.">
        <Textarea rows={2} value={text} onChange={(event) => setText(event.target.value)} />
      </Field>
      <div className="row">
        <Button type="submit" look="primary" busy={busy}>
          Go on
        </Button>
      </div>
    </form>
  );
}

/** Several questions at once are answered by their ids. */
function keyed(interrupts: readonly Interrupt[], answer: unknown): unknown {
  if (interrupts.length === 1) return answer;
  return Object.fromEntries(interrupts.map(({ id }) => [id, answer]));
}

function actionsOf(asked: unknown): ActionRequest[] | null {
  const requests = (asked as { action_requests?: unknown } | null)?.action_requests;
  return Array.isArray(requests) && requests.length > 0 ? (requests as ActionRequest[]) : null;
}

function linkOf(asked: unknown): string | null {
  const url = (asked as { auth_url?: unknown } | null)?.auth_url;
  return typeof url === "string" && /^https?:/.test(url) ? url : null;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Words are an answer too.
    return text;
  }
}
