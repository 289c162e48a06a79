import { session } from "../session.ts";
import { api } from "./client.ts";
import type { Feedback } from "./wire.ts";

/** What thumbs are kept under, and what a note without a score is. */
export const thumbsKey = "user_score";
export const noteKey = "note";

export type JudgedRun = { id: string; trace_id?: string | undefined; session_id?: string | undefined };
export type Judgement = { key: string; score?: number | undefined; comment?: string | undefined };

/** Feedback as the `langsmith` SDK reads it, with who gave it in this console. */
export function giveFeedback(run: JudgedRun, { key, score, comment }: Judgement): Promise<Feedback> {
  const user = session.current?.user;
  return api.post<Feedback>("/api/v1/feedback", {
    key,
    run_id: run.id,
    ...(run.trace_id ? { trace_id: run.trace_id } : {}),
    ...(run.session_id ? { session_id: run.session_id } : {}),
    feedback_source: { type: "app", ...(user ? { user_id: user.id, user_name: user.name } : {}) },
    ...(score === undefined ? {} : { score }),
    ...(comment === undefined || comment === "" ? {} : { comment }),
  });
}

export const changeFeedback = (
  id: string,
  change: { score?: number | undefined; comment?: string | undefined },
) => api.patch<Feedback>(`/api/v1/feedback/${id}`, change);

export const takeFeedbackBack = (id: string) => api.delete(`/api/v1/feedback/${id}`);

/** Gives it, or changes what one gave before: trying again never gives it twice. */
export async function setFeedback(run: JudgedRun, { key, ...given }: Judgement): Promise<void> {
  const known = await api.get<Feedback[]>(
    `/api/v1/feedback?run=${run.id}&key=${encodeURIComponent(key)}&source=app`,
  );
  const mine = ownFeedback(known, key);
  if (mine) await changeFeedback(mine.id, given);
  else await giveFeedback(run, { key, ...given });
}

/** The newest feedback of a key from the person who is signed in. */
export function ownFeedback(given: readonly Feedback[] | undefined, key: string): Feedback | undefined {
  const userId = session.current?.user.id;
  return given?.find((each) => {
    const source = each.feedback_source as { type?: string; user_id?: string } | null | undefined;
    return each.key === key && source?.type === "app" && source.user_id === userId;
  });
}
