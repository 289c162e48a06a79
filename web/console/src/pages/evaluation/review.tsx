import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ExternalLink, ThumbsDown, ThumbsUp } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { noteKey, setFeedback, thumbsKey } from "../../api/feedback.ts";
import {
  Button,
  ButtonLink,
  ErrorLine,
  ErrorState,
  Field,
  IconButton,
  Input,
  isTyping,
  Skeleton,
  Textarea,
} from "../../ui/index.ts";
import { Payload } from "../traces/payload.tsx";
import { type AnnotationItem, type AnnotationQueue, useReviewedRun } from "./evaluation-api.ts";
import { nextKey, rubricKeys, type Scores } from "./rubric.ts";

type Props = {
  queue: AnnotationQueue;
  item: AnnotationItem;
  /** Loaded in advance, so that the reviewer does not wait for it. */
  following: AnnotationItem | undefined;
  mayWrite: boolean;
};

/** One item: what went in and came out, and what the reviewer thinks of it. */
export function Review({ queue, item, following, mayWrite }: Props) {
  const run = useReviewedRun(item.run_id);
  useReviewedRun(following?.run_id ?? null);
  return (
    <div className="review">
      <section className="review-run" aria-label="The run">
        {item.run_id === null ? (
          <p>
            A conversation: thread <code>{item.thread_id}</code>.
          </p>
        ) : run.error ? (
          <ErrorState error={run.error} note="Skip it, or mark it done." />
        ) : run.data ? (
          <>
            <header className="row">
              <h2>{run.data.name}</h2>
              <ButtonLink
                size="small"
                icon={ExternalLink}
                href={`/traces/${run.data.session_id}/r/${run.data.id}`}
              >
                Open trace
              </ButtonLink>
            </header>
            {run.data.error && <p className="error-text">{run.data.error}</p>}
            <Payload title="Input" value={run.data.inputs} />
            <Payload title="Output" value={run.data.outputs} empty="No output." />
          </>
        ) : (
          <Skeleton lines={6} />
        )}
      </section>
      {mayWrite && <Judge queue={queue} item={item} />}
    </div>
  );
}

function Judge({ queue, item }: { queue: AnnotationQueue; item: AnnotationItem }) {
  const client = useQueryClient();
  const rubric = rubricKeys(queue.rubric_items);
  const keys = rubric.length > 0 ? rubric : [thumbsKey];
  const [scores, setScores] = useState<Scores>({});
  const [note, setNote] = useState("");
  const noteField = useRef<HTMLTextAreaElement>(null);
  const status = (body: unknown) =>
    api.post(`/api/v1/platform/annotation-queues/items/${item.id}/status`, body);
  const move = useMutation({
    mutationFn: async (how: "done" | "skip") => {
      if (how === "skip") return status({ status: "viewed", override_added_at: new Date().toISOString() });
      if (item.run_id !== null) {
        const run = { id: item.run_id };
        for (const key of keys) {
          const score = scores[key];
          if (score !== undefined) await setFeedback(run, { key, score });
        }
        if (note.trim() !== "") await setFeedback(run, { key: noteKey, comment: note.trim() });
      }
      return status({ status: "completed" });
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ["queues"] }),
  });
  const judge = (score: number) => setScores((now) => ({ ...now, [nextKey(keys, now)]: score }));
  const actions = {
    u: () => judge(1),
    d: () => judge(0),
    s: () => move.mutate("skip"),
    Enter: () => move.mutate("done"),
  };
  useKeys({ ...actions, n: () => noteField.current?.focus() }, move.isPending);
  return (
    <section className="review-judge card stack" aria-label="Your judgement">
      {queue.rubric_instructions && <p className="review-instructions">{queue.rubric_instructions}</p>}
      {keys.map((key) => (
        <KeyScore
          key={key}
          name={key}
          score={scores[key]}
          onScore={(score) => setScores((now) => ({ ...now, [key]: score }))}
        />
      ))}
      <Field label="Note" optional hint="Ctrl Enter: done, and on to the next.">
        <Textarea
          ref={noteField}
          value={note}
          rows={3}
          onChange={(event) => setNote(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") event.currentTarget.blur();
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !move.isPending)
              move.mutate("done");
          }}
        />
      </Field>
      <div className="row">
        <Button look="primary" busy={move.isPending} onClick={() => move.mutate("done")}>
          Done, next
        </Button>
        <Button disabled={move.isPending} onClick={() => move.mutate("skip")}>
          Skip
        </Button>
      </div>
      <ErrorLine error={move.error} />
      <p className="muted review-keys">
        <kbd>u</kbd> good <kbd>d</kbd> bad <kbd>n</kbd> note <kbd>Enter</kbd> done, next <kbd>s</kbd> skip
      </p>
    </section>
  );
}

function KeyScore({
  name,
  score,
  onScore,
}: {
  name: string;
  score: number | undefined;
  onScore(score: number | undefined): void;
}) {
  const thumb = (value: number, label: string, icon: typeof ThumbsUp) => (
    <IconButton
      label={`${label}: ${name}`}
      icon={icon}
      aria-pressed={score === value}
      onClick={() => onScore(score === value ? undefined : value)}
    />
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <div className="row review-key" role="group" aria-label={name}>
      <b>{name === thumbsKey ? "Your thumb" : name}</b>
      {thumb(1, "Good", ThumbsUp)}
      {thumb(0, "Bad", ThumbsDown)}
      <Input
        type="number"
        step="any"
        className="review-score"
        aria-label={`Score: ${name}`}
        placeholder="score"
        value={score ?? ""}
        onChange={(event) => onScore(event.target.value === "" ? undefined : Number(event.target.value))}
      />
    </div>
  );
}

/** Keys of the whole page, but not in a text field or on a button. */
function useKeys(actions: Readonly<Record<string, () => void>>, isBusy: boolean): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isBusy || event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "Enter" && (event.target as HTMLElement).closest("a, button, summary")) return;
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined;
      if (!action) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [isBusy]);
}
