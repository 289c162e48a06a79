-- Traces and datasets that whoever has the token may read. The token is the whole credential.
create table trace_shares (
  token uuid primary key,
  workspace_id uuid not null references workspaces (id),
  kind text not null check (kind in ('trace', 'dataset')),
  -- The trace's or the dataset's id.
  target_id uuid not null,
  created_at timestamptz not null default now()
);
create unique index trace_shares_of_target on trace_shares (workspace_id, kind, target_id);

-- Experiments on one dataset that are looked at side by side.
create table trace_comparative_experiments (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  description text,
  reference_dataset_id uuid not null references trace_datasets on delete cascade,
  experiment_ids uuid[] not null,
  extra jsonb,
  created_at timestamptz not null default now(),
  modified_at timestamptz not null default now()
);
create index trace_comparative_experiments_of_dataset
  on trace_comparative_experiments (reference_dataset_id, created_at desc);
