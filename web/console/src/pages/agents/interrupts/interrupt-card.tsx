import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ExternalLink, Hand } from "lucide-react";
import { Card, ErrorLine } from "../../../ui/index.ts";
import { JsonView } from "../../../ui/json-view.tsx";
import { type AgentServer, type Interrupt, threadKey } from "../agent-api.ts";
import { type Stops, startRun } from "../start-run.ts";
import { ActionReview } from "./action-review.tsx";
import { AnswerForm } from "./answer-form.tsx";
import { readQuestion } from "./question.ts";

export type InterruptCardProps = {
  server: AgentServer;
  threadId: string;
  interrupt: Interrupt;
  /** Others wait as well: then the answer names its question. */
  among: number;
  assistantId: string | undefined;
  stops: Stops;
};

/** A run has stopped and asks a person: to approve actions, to connect an account, or anything else. */
export function InterruptCard({
  server,
  threadId,
  interrupt,
  among,
  assistantId,
  stops,
}: InterruptCardProps) {
  const client = useQueryClient();
  const answer = useMutation({
    mutationFn: (given: unknown) =>
      startRun(server, threadId, {
        assistant_id: assistantId,
        command: { resume: among > 1 && interrupt.id ? { [interrupt.id]: given } : given },
        stops,
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: threadKey(server, threadId) }),
  });
  const question = readQuestion(interrupt.value);
  return (
    <Card className="interrupt">
      <h2>
        <Hand aria-hidden="true" size={16} /> The run waits for you
      </h2>
      {question.kind === "free" ? (
        <>
          {question.words === null ? (
            <JsonView label="what it asks" value={interrupt.value} open={3} />
          ) : (
            <p>{question.words}</p>
          )}
          {question.link && (
            <p>
              <a className="button primary normal" href={question.link} target="_blank" rel="noreferrer">
                <ExternalLink aria-hidden="true" size={16} /> Connect the account
              </a>
            </p>
          )}
          <AnswerForm asked={interrupt.value} busy={answer.isPending} onAnswer={answer.mutate} />
        </>
      ) : (
        <ActionReview question={question} busy={answer.isPending} onAnswer={answer.mutate} />
      )}
      <ErrorLine error={answer.error} />
    </Card>
  );
}
