import { timeTextSql } from "./run.ts";

/** A judgement of a run by a person or a program. JSON of any kind is kept as text. */
export type Feedback = {
  id: string;
  workspace_id: string;
  run_id: string | null;
  trace_id: string | null;
  project_id: string | null;
  key: string;
  score: number | null;
  value: string | null;
  comment: string | null;
  correction: string | null;
  feedback_source: unknown;
  feedback_config: unknown;
  comparative_experiment_id: string | null;
  feedback_group_id: string | null;
  extra: unknown;
  created_at: string;
  modified_at: string;
};

export type FeedbackChange = {
  score?: number | null;
  value?: string | null;
  comment?: string | null;
  correction?: string | null;
};

/** As feedback is read from its table. */
export const feedbackColumnsSql = `id, workspace_id, run_id, trace_id, project_id, key, score, value, comment, correction,
   feedback_source, feedback_config, comparative_experiment_id, feedback_group_id, extra,
   ${timeTextSql("created_at")} as created_at, ${timeTextSql("modified_at")} as modified_at`;
