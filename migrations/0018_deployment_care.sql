-- Deployments are traced by themselves, tell how they are doing, and keep a short history of what they use.

alter table deployments
  -- The project its traces go to.
  add column tracer_session_id uuid,
  -- Its traces go with it, once nothing of it runs any more.
  add column delete_tracing_project boolean not null default false;

-- The key with which the deployments of a workspace send their traces.
create table tracing_keys (
  workspace_id uuid primary key references workspaces (id) on delete cascade,
  api_key_id uuid not null,
  key_sealed text not null,
  created_at timestamptz not null default now()
);

-- What a deployment used and answered, in steps of a few seconds.
create table deployment_metrics (
  deployment_id uuid not null references deployments (id) on delete cascade,
  at timestamptz not null,
  cpu double precision,
  memory_bytes bigint,
  requests integer not null default 0,
  errors integer not null default 0,
  -- The sum of the answers' times, for their mean.
  busy_ms double precision not null default 0,
  primary key (deployment_id, at)
);
create index deployment_metrics_age on deployment_metrics (at);
