-- The platform's job queue: builds, exports, refreshes and sweeps. Agent runs have a queue of their own.
create table jobs (
  id uuid primary key,
  kind text not null,
  payload jsonb not null,
  workspace_id uuid,
  status text not null default 'pending',
  run_at timestamptz not null default now(),
  attempts integer not null default 0,
  max_attempts integer not null,
  lease_owner text,
  lease_token uuid,
  lease_expires_at timestamptz,
  idempotency_key text,
  -- Whether the key still keeps others out: always while the job is unfinished, afterwards until key_expires_at.
  holds_key boolean not null default false,
  key_expires_at timestamptz,
  last_error jsonb,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  constraint jobs_status_known check (status in ('pending', 'running', 'succeeded', 'dead', 'cancelled')),
  constraint jobs_max_attempts_positive check (max_attempts > 0),
  constraint jobs_lease_only_while_running check ((status = 'running') = (lease_token is not null)),
  constraint jobs_leased_whole check (
    (lease_token is null) = (lease_owner is null) and (lease_token is null) = (lease_expires_at is null)
  ),
  constraint jobs_finished_at_end check ((status in ('succeeded', 'dead', 'cancelled')) = (finished_at is not null)),
  constraint jobs_held_key_exists check (not holds_key or idempotency_key is not null)
);

create index jobs_due on jobs (run_at, id) where status = 'pending';
create index jobs_leased on jobs (lease_expires_at) where status = 'running';
create index jobs_dead on jobs (finished_at desc, id desc) where status = 'dead';
create index jobs_prunable on jobs (finished_at) where status in ('succeeded', 'cancelled');
create unique index jobs_key_held on jobs (kind, idempotency_key) where holds_key;
