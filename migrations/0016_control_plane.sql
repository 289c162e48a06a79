-- Deployments of agents, their revisions, what runs for them and what they said.

create table deployments (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  display_name text,
  -- Part of the gateway's path; stays the same for the life of the deployment.
  slug text not null unique,
  source text not null check (source in ('github', 'external_docker', 'internal_docker', 'internal_source', 'internal_template')),
  source_config jsonb not null,
  -- As asked for last; each revision has its own.
  source_revision_config jsonb not null,
  tracked_repo_ref text,
  -- The commit the last poll of the tracked branch saw.
  polled_commit_sha text,
  secrets_sealed text not null,
  secret_references jsonb,
  shareable boolean not null default false,
  route_through_gateway boolean not null default false,
  deployment_tier text,
  compute_tier text,
  database_tier text,
  database_name text not null,
  database_password_sealed text not null,
  database_ready boolean not null default false,
  next_revision_number integer not null default 1,
  latest_revision_id uuid,
  active_revision_id uuid,
  -- What served before the active one, for an automatic rollback.
  previous_revision_id uuid,
  switched_at timestamptz,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Gone for every caller; what it leaves behind is purged later.
  deleted_at timestamptz,
  purge_after timestamptz
);
create unique index deployments_name on deployments (workspace_id, name) where deleted_at is null;
create index deployments_listed on deployments (workspace_id, created_at desc, id desc) where deleted_at is null;
create index deployments_purge on deployments (purge_after) where deleted_at is not null;

create table revisions (
  id uuid primary key,
  deployment_id uuid not null references deployments (id) on delete cascade,
  workspace_id uuid not null,
  number integer not null,
  status text not null check (status in ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY',
    'DEPLOYING', 'CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'DEPLOYED', 'SKIPPED', 'INTERRUPTED', 'UNKNOWN')),
  status_message text,
  -- 0 to 100.
  progress integer not null default 0,
  source text not null,
  source_revision_config jsonb not null,
  -- Repository, commands and resources as they were when the revision was made.
  build_config jsonb not null,
  repo_commit_sha text,
  artifact_key text,
  uses_own_auth boolean not null default false,
  secrets_sealed text not null,
  redeploy_of uuid,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (deployment_id, number)
);
create index revisions_open on revisions (deployment_id)
  where status in ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING');
create index revisions_artifact on revisions (artifact_key) where artifact_key is not null;

create table revision_events (
  id bigint generated always as identity primary key,
  revision_id uuid not null references revisions (id) on delete cascade,
  kind text not null,
  status text,
  message text not null,
  created_at timestamptz not null default now()
);
create index revision_events_timeline on revision_events (revision_id, id);

-- One start of one revision on one machine.
create table deployment_instances (
  id uuid primary key,
  deployment_id uuid not null references deployments (id) on delete cascade,
  revision_id uuid not null references revisions (id) on delete cascade,
  runtime text not null,
  state text not null check (state in ('starting', 'ready', 'draining', 'stopping', 'exited')),
  -- 1 for the first start of a revision; counts up while it keeps dying.
  attempt integer not null,
  port integer not null,
  -- What the runtime knows it by: a process id and the time it began, or a container id.
  handle jsonb,
  log_path text not null,
  log_offset bigint not null default 0,
  -- Names the database it was given; another address means that it cannot work any more.
  database_hash text not null,
  announced jsonb,
  started_at timestamptz not null default now(),
  ready_at timestamptz,
  drain_since timestamptz,
  stop_since timestamptz,
  exited_at timestamptz,
  exit_reason text
);
create index deployment_instances_live on deployment_instances (deployment_id) where state <> 'exited';
create index deployment_instances_revision on deployment_instances (revision_id, started_at desc);

create table deployment_logs (
  id bigint generated always as identity primary key,
  deployment_id uuid not null references deployments (id) on delete cascade,
  revision_id uuid not null,
  kind text not null check (kind in ('build', 'deploy')),
  at timestamptz not null,
  level text not null,
  message text not null,
  run_id text
);
create index deployment_logs_revision on deployment_logs (revision_id, kind, id);
create index deployment_logs_deployment on deployment_logs (deployment_id, kind, id);
create index deployment_logs_age on deployment_logs (at);

-- Built projects, by what they were built from. The folder is complete when the row is there.
create table build_artifacts (
  key text primary key,
  path text not null,
  bytes bigint not null,
  uses_own_auth boolean not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now()
);

create table source_uploads (
  object_path text primary key,
  deployment_id uuid not null references deployments (id) on delete cascade,
  workspace_id uuid not null,
  -- SHA-256 of the secret in the upload address.
  token_hash text not null,
  sha256 text,
  bytes bigint,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index source_uploads_deployment on source_uploads (deployment_id);

create table git_integrations (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  installation_id bigint generated always as identity (start with 1000),
  name text not null,
  host text not null,
  api_url text,
  credentials_sealed text not null,
  webhook_secret_sealed text not null,
  created_by uuid,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index git_integrations_name on git_integrations (workspace_id, name) where deleted_at is null;

create table listeners (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  version text,
  compute_type text not null,
  compute_id text not null,
  compute_config jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (workspace_id, compute_id)
);

-- The one process that reconciles: it starts, watches and stops what runs.
create table control_plane_lease (
  singleton boolean primary key default true check (singleton),
  owner text not null,
  host text not null,
  pid integer not null,
  pid_started text not null,
  expires_at timestamptz not null
);
