import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { giveFeedback, takeFeedbackBack } from "../../api/feedback.ts";
import { Button, ErrorLine, Field, IconButton, Input, ListState, Time } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type Feedback, type FullRun, useFeedback } from "./trace-api.ts";

export function FeedbackPanel({ run }: { run: FullRun }) {
  const found = useFeedback(run.id);
  const mayWrite = useCan("editor");
  return (
    <div className="stack">
      <ListState
        of={found}
        rows={found.data}
        lines={2}
        empty={<p className="muted">This run has no feedback yet.</p>}
      >
        {(rows) => (
          <ul className="feedback-list">
            {rows.map((feedback) => (
              <FeedbackItem key={feedback.id} feedback={feedback} runId={run.id} mayDelete={mayWrite} />
            ))}
          </ul>
        )}
      </ListState>
      {mayWrite && <AddFeedback key={run.id} run={run} />}
    </div>
  );
}

function FeedbackItem({
  feedback,
  runId,
  mayDelete,
}: {
  feedback: Feedback;
  runId: string;
  mayDelete: boolean;
}) {
  const client = useQueryClient();
  const [isAsking, setIsAsking] = useState(false);
  const remove = useMutation({
    mutationFn: () => takeFeedbackBack(feedback.id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["traces", "feedback", runId] }),
  });
  const value = feedback.score ?? (feedback.value === null ? null : JSON.stringify(feedback.value));
  return (
    <li>
      <span className="badge">{feedback.key}</span>
      {value !== null && <b className="number">{value}</b>}
      {feedback.comment && <span>{feedback.comment}</span>}
      <span className="muted feedback-when">
        {feedback.feedback_source?.type ? `${feedback.feedback_source.type} · ` : ""}
        <Time at={feedback.created_at} />
      </span>
      {mayDelete &&
        (isAsking ? (
          <Button size="small" look="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
            Delete it
          </Button>
        ) : (
          <IconButton
            label={`Delete feedback ${feedback.key}`}
            icon={Trash2}
            size="small"
            onClick={() => setIsAsking(true)}
          />
        ))}
      <ErrorLine error={remove.error} />
    </li>
  );
}

function AddFeedback({ run }: { run: FullRun }) {
  const client = useQueryClient();
  const [key, setKey] = useState("correctness");
  const [score, setScore] = useState("");
  const [comment, setComment] = useState("");
  const add = useMutation({
    mutationFn: () => giveFeedback(run, { key, comment, score: score === "" ? undefined : Number(score) }),
    onSuccess: async () => {
      setScore("");
      setComment("");
      await client.invalidateQueries({ queryKey: ["traces", "feedback", run.id] });
    },
  });
  const isEmpty = key.trim() === "" || (score === "" && comment === "");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isEmpty) add.mutate();
  };
  return (
    <form className="feedback-form" onSubmit={submit} aria-label="Give feedback">
      <Field label="What">
        <Input value={key} required onChange={(event) => setKey(event.target.value)} />
      </Field>
      <Field label="Score" optional>
        <Input type="number" step="any" value={score} onChange={(event) => setScore(event.target.value)} />
      </Field>
      <Field label="Comment" optional>
        <Input value={comment} onChange={(event) => setComment(event.target.value)} />
      </Field>
      <Button type="submit" look="primary" busy={add.isPending} disabled={isEmpty}>
        Add feedback
      </Button>
      <ErrorLine error={add.error} />
    </form>
  );
}
