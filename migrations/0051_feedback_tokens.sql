-- How the scores of a feedback key are to be read, and links with which feedback may be given without a key.

create table trace_feedback_configs (
  workspace_id uuid not null references workspaces (id),
  feedback_key text not null,
  -- {type, min, max, categories}
  feedback_config jsonb not null,
  is_lower_score_better boolean not null default false,
  modified_at timestamptz not null default now(),
  primary key (workspace_id, feedback_key)
);

-- The id is the secret part of the link: it is random, and made here.
create table trace_feedback_tokens (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  run_id uuid not null,
  feedback_key text not null,
  -- What is given with one link is one piece of feedback; given again, it replaces the first.
  feedback_id uuid not null,
  feedback_config jsonb,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index trace_feedback_tokens_of_run on trace_feedback_tokens (workspace_id, run_id, created_at);
create index trace_feedback_tokens_by_end on trace_feedback_tokens (expires_at);
