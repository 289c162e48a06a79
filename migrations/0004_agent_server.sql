-- Area C: assistants, threads, runs and the event log of each thread.
-- Payloads that users write freely (inputs, values, events) are text holding JSON: jsonb refuses \u0000
-- and lone surrogates. What is filtered on (metadata, config) is jsonb.

create table assistants (
  workspace_id uuid not null,
  assistant_id uuid not null,
  graph_id text not null,
  config jsonb not null default '{}',
  context jsonb not null default '{}',
  metadata jsonb not null default '{}',
  name text not null,
  description text,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The default assistant of a graph has the same id everywhere, so the workspace is part of the key.
  primary key (workspace_id, assistant_id)
);
create index assistants_by_graph on assistants (workspace_id, graph_id);
create index assistants_by_creation on assistants (workspace_id, created_at desc);

create table assistant_versions (
  workspace_id uuid not null,
  assistant_id uuid not null,
  version integer not null,
  graph_id text not null,
  config jsonb not null,
  context jsonb not null,
  metadata jsonb not null,
  name text not null,
  description text,
  created_at timestamptz not null default now(),
  primary key (workspace_id, assistant_id, version),
  foreign key (workspace_id, assistant_id) references assistants on delete cascade
);

create table threads (
  thread_id uuid primary key,
  workspace_id uuid not null,
  status text not null default 'idle' check (status in ('idle', 'busy', 'interrupted', 'error')),
  metadata jsonb not null default '{}',
  config jsonb not null default '{}',
  values_json text,
  interrupts_json text not null default '{}',
  error_json text,
  -- Highest event number ever given out on this thread; numbers stay unique over restarts and pruning.
  last_seq bigint not null default 0,
  -- Highest event number that was pruned: a reader asking for less has lost something.
  pruned_seq bigint not null default 0,
  -- Set by the first client of the streaming protocol: from then on every run also writes its events.
  protocol boolean not null default false,
  ttl_minutes double precision,
  ttl_strategy text check (ttl_strategy in ('delete', 'keep_latest')),
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  state_updated_at timestamptz not null default now()
);
create index threads_by_creation on threads (workspace_id, created_at desc);
create index threads_by_update on threads (workspace_id, updated_at desc);
create index threads_by_metadata on threads using gin (metadata jsonb_path_ops);
create index threads_expiring on threads (expires_at) where expires_at is not null;

create table runs (
  run_id uuid primary key,
  thread_id uuid not null references threads on delete cascade,
  workspace_id uuid not null,
  assistant_id uuid not null,
  graph_id text not null,
  status text not null check (status in ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  multitask_strategy text not null,
  metadata jsonb not null default '{}',
  kwargs_json text not null,
  -- The thread was made for this run alone and goes with it.
  temporary boolean not null default false,
  available_at timestamptz not null default now(),
  attempt integer not null default 0,
  lease_owner uuid,
  lease_expires_at timestamptz,
  cancel_action text check (cancel_action in ('interrupt', 'rollback')),
  error_json text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz
);
-- One run per thread at a time, whatever a process believes.
create unique index runs_one_running on runs (thread_id) where status = 'running';
create index runs_of_thread on runs (thread_id, created_at desc);
create index runs_waiting on runs (available_at) where status = 'pending';
create index runs_leased on runs (lease_expires_at) where status = 'running';

-- What a run says while it runs. family: `run` = stream modes, `protocol` = streaming protocol,
-- `control` = the end of a run.
create table thread_events (
  thread_id uuid not null,
  seq bigint not null,
  run_id uuid not null,
  family text not null,
  name text not null,
  namespace text not null default '',
  data text not null,
  created_at timestamptz not null default now(),
  primary key (thread_id, seq)
);
create index thread_events_of_run on thread_events (run_id);
create index thread_events_by_age on thread_events (created_at);

-- Processes that serve readers. Events are announced by NOTIFY only while more than one is alive.
create table server_processes (
  process_id uuid primary key,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- jsonb of a text that may hold what jsonb refuses; null then.
create function jsonb_or_null(value text) returns jsonb language plpgsql immutable strict as $$
begin
  return value::jsonb;
exception when others then
  return null;
end
$$;
