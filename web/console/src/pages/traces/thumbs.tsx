import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ThumbsDown, ThumbsUp } from "lucide-react";
import {
  changeFeedback,
  giveFeedback,
  ownFeedback,
  takeFeedbackBack,
  thumbsKey,
} from "../../api/feedback.ts";
import { IconButton, toast } from "../../ui/index.ts";
import { useCan } from "../../workspace.tsx";
import { type FullRun, useFeedback } from "./trace-api.ts";

/** One's own thumb on a run; a second press takes it back. */
export function Thumbs({ run }: { run: FullRun }) {
  const mayWrite = useCan("editor");
  const given = useFeedback(run.id);
  const client = useQueryClient();
  const mine = ownFeedback(given.data, thumbsKey);
  const set = useMutation({
    mutationFn: (score: number): Promise<unknown> => {
      if (!mine) return giveFeedback(run, { key: thumbsKey, score });
      return mine.score === score ? takeFeedbackBack(mine.id) : changeFeedback(mine.id, { score });
    },
    onError: (error) => toast.bad(error),
    onSettled: () => client.invalidateQueries({ queryKey: ["traces", "feedback", run.id] }),
  });
  if (!mayWrite) return null;
  const button = (score: number, label: string, icon: typeof ThumbsUp) => (
    <IconButton
      label={label}
      icon={icon}
      size="small"
      disabled={set.isPending || !given.data}
      aria-pressed={mine?.score === score}
      onClick={() => set.mutate(score)}
    />
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <span className="thumbs" role="group" aria-label="Your judgement">
      {button(1, "Good", ThumbsUp)}
      {button(0, "Bad", ThumbsDown)}
    </span>
  );
}
