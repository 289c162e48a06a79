-- Area B: traces.
--
-- trace_runs is partitioned by month of start_time. The migration makes only the default partition; the months
-- are made ahead by a recurring job (and for past months when first written to), and dropped by retention.
-- start_time is part of the key because a partitioned table demands it; an id is looked up with a time hint
-- where one is known, so that one or two partitions are touched, and over all of them where none is.
--
-- Payloads (inputs, outputs, extra, events, serialized, error) are text, JSON as the client sent it (error is
-- plain text): jsonb refuses \u0000 and lone surrogates, and text copies out as it is. They are stored
-- uncompressed and, up to 8 KB a row, inline: measured at twice the insert and twice the COPY rate of the
-- default. A SQL null means "never sent"; the JSON text 'null' means the client sent null.
--
-- What is filtered on:
--   metadata     extra.metadata, bounded (100 keys), jsonb without what jsonb refuses.
--   terms        hashes (src/traces/runs/term.ts) of the pairs of metadata, inputs and outputs, and of the tags.
--                They only narrow the search: hashes collide and the pairs are capped, so the exact predicate
--                is always checked too. `terms @> array[pairTerm(...)]` uses the GIN index.
--   tags         text[]; thread_id from metadata session_id / conversation_id / thread_id.
--   inputs, outputs pairs: trace_pairs(text) gives (k, v) of a payload, flattened as the filter language says.
-- Tokens and costs of a run are its own plus those of all runs below it; `usage` is its own part.
-- Feedback joins on run_id; trace_feedback_stats is the per-run statistics every reader shows.

create table trace_projects (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  description text,
  extra jsonb,
  default_dataset_id uuid,
  -- Set: this project is an experiment on that dataset.
  reference_dataset_id uuid,
  trace_tier text not null default 'longlived',
  -- Days to keep; null: as the workspace says.
  retention_days integer check (retention_days > 0),
  start_time timestamptz not null default now(),
  end_time timestamptz,
  created_at timestamptz not null default now(),
  -- Set by DELETE: gone for every caller while its runs are being removed.
  deleted_at timestamptz
);
create unique index trace_projects_name on trace_projects (workspace_id, name) where deleted_at is null;
create index trace_projects_by_start on trace_projects (workspace_id, start_time desc);
create index trace_projects_of_dataset on trace_projects (reference_dataset_id) where reference_dataset_id is not null;

create table trace_settings (
  workspace_id uuid primary key references workspaces (id),
  -- Days to keep runs of projects that do not say otherwise; null: for ever.
  retention_days integer check (retention_days > 0)
);

create table trace_runs (
  id uuid not null,
  workspace_id uuid not null,
  project_id uuid not null,
  trace_id uuid not null,
  parent_run_id uuid,
  -- From the root down, without the run itself.
  parent_run_ids uuid[] not null default '{}',
  is_root boolean not null,
  reference_example_id uuid,
  name text not null,
  run_type text not null,
  start_time timestamptz not null,
  end_time timestamptz,
  status text not null,
  dotted_order text collate "C" not null,
  trace_tier text not null default 'longlived',
  thread_id text,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}',
  terms integer[] not null default '{}',
  total_tokens bigint not null default 0,
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  total_cost double precision,
  prompt_cost double precision,
  completion_cost double precision,
  first_token_time timestamptz,
  -- [prompt tokens, completion tokens, total tokens, prompt cost, completion cost, total cost] of the run alone.
  usage double precision[],
  execution_order integer not null default 1,
  -- A late post only fills what the patches before it left open.
  posted boolean not null default true,
  patched boolean not null default false,
  received_at timestamptz not null default now(),
  inputs text,
  outputs text,
  error text,
  extra text,
  events text,
  serialized text,
  primary key (id, start_time, workspace_id)
) partition by range (start_time);
alter table trace_runs alter column inputs set storage external;
alter table trace_runs alter column outputs set storage external;
alter table trace_runs alter column error set storage external;
alter table trace_runs alter column extra set storage external;
alter table trace_runs alter column events set storage external;
alter table trace_runs alter column serialized set storage external;

-- Carries what most filters and the statistics ask, so that they walk a project without touching its wide rows.
create index trace_runs_by_project on trace_runs (project_id, start_time desc, id desc)
  include (workspace_id, trace_id, end_time, status, run_type, name, is_root, total_tokens, total_cost,
    first_token_time, usage);
create index trace_runs_roots on trace_runs (project_id, start_time desc, id desc) where is_root;
create index trace_runs_errors on trace_runs (project_id, start_time desc, id desc) where status = 'error';
create index trace_runs_of_trace on trace_runs (trace_id);
create index trace_runs_of_thread on trace_runs (thread_id) where thread_id is not null and is_root;
create index trace_runs_of_example on trace_runs (reference_example_id) where reference_example_id is not null;
create index trace_runs_terms on trace_runs using gin (terms);

create table trace_runs_default partition of trace_runs default with (toast_tuple_target = 8160);

-- Patches of runs that are not there yet and whose start time cannot be told.
create table trace_parked_patches (
  seq bigint generated always as identity primary key,
  workspace_id uuid not null,
  run_id uuid not null,
  -- The patch as it would have been applied, JSON.
  patch text not null,
  received_at timestamptz not null default now()
);
create index trace_parked_patches_of_run on trace_parked_patches (run_id);

-- Tokens and costs that belong to an ancestor which is not there yet, in the order of trace_runs.usage.
create table trace_parked_usage (
  run_id uuid not null,
  workspace_id uuid not null,
  usage double precision[] not null,
  received_at timestamptz not null default now(),
  primary key (run_id, workspace_id)
);

create table trace_attachments (
  workspace_id uuid not null,
  run_id uuid not null,
  name text not null,
  mime_type text not null,
  size integer not null,
  content bytea not null,
  created_at timestamptz not null default now(),
  primary key (run_id, name, workspace_id)
);
alter table trace_attachments alter column content set storage external;

create table trace_feedback (
  id uuid primary key,
  workspace_id uuid not null,
  -- Null: feedback on a whole project. The run may not have arrived yet.
  run_id uuid,
  trace_id uuid,
  project_id uuid,
  key text not null,
  score double precision,
  -- JSON text; only a JSON string counts in the breakdown of values.
  value text,
  comment text,
  correction text,
  feedback_source jsonb,
  feedback_config jsonb,
  comparative_experiment_id uuid,
  feedback_group_id uuid,
  extra jsonb,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now()
);
create index trace_feedback_of_run on trace_feedback (run_id, key);
create index trace_feedback_of_project on trace_feedback (project_id, key) where project_id is not null;
create index trace_feedback_by_key on trace_feedback (workspace_id, key, created_at desc);

create table trace_datasets (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  description text,
  data_type text not null default 'kv',
  inputs_schema jsonb,
  outputs_schema jsonb,
  metadata jsonb,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now()
);
create unique index trace_datasets_name on trace_datasets (workspace_id, name);

create table trace_examples (
  id uuid primary key,
  workspace_id uuid not null,
  dataset_id uuid not null references trace_datasets on delete cascade,
  inputs text not null,
  outputs text,
  metadata jsonb,
  source_run_id uuid,
  -- The order they were given in: several of one request share a time.
  position bigint generated always as identity,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now()
);
create index trace_examples_of_dataset on trace_examples (dataset_id, position);

-- The pairs of a payload: dotted paths, array indices dropped, one per leaf, values as text.
create function trace_pairs(payload text) returns table (k text, v text) language sql immutable as $$
  with recursive walk (path, node) as (
    select '', jsonb_or_null(payload)
    union all
    select case when child.key is null then walk.path when walk.path = '' then child.key
                else walk.path || '.' || child.key end,
           child.value
    from walk cross join lateral (
      select e.key, e.value from jsonb_each(case when jsonb_typeof(walk.node) = 'object' then walk.node end) e
      union all
      select null, a.value from jsonb_array_elements(case when jsonb_typeof(walk.node) = 'array' then walk.node end) a
    ) child
  )
  -- A number is written in one way only: clients send 1.0 and mean 1.
  select path, left(case when jsonb_typeof(node) = 'number' then trim_scale(node::numeric)::text
                         else node #>> '{}' end, 250) from walk
  where node is not null and jsonb_typeof(node) not in ('object', 'array')
$$;

-- Per run and key: count, average and spread of the scores, and how often each text value was given.
create view trace_feedback_stats as
  select workspace_id, run_id, jsonb_object_agg(key, stats)::text as feedback_stats
  from (
    select workspace_id, run_id, key,
           jsonb_build_object(
             'n', sum(n), 'avg', sum(score_sum) / nullif(sum(score_count), 0),
             'values', coalesce(jsonb_object_agg(value_text, n) filter (where value_text is not null), '{}'::jsonb)
           ) as stats
    from (
      select workspace_id, run_id, key, count(*) as n, sum(score) as score_sum, count(score) as score_count,
             case when value like '"%' then coalesce(jsonb_or_null(value) #>> '{}', value) end as value_text
      from trace_feedback
      where run_id is not null
      group by workspace_id, run_id, key, 7
    ) by_value
    group by workspace_id, run_id, key
  ) by_key
  group by workspace_id, run_id;
