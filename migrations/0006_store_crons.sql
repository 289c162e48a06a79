-- Area C: the long-term store of graphs and the schedules that start runs.

create table store_items (
  workspace_id uuid not null,
  -- The labels joined with "."; no label holds one. Bytewise, so that a prefix is a range of the key.
  namespace text collate "C" not null,
  key text collate "C" not null,
  -- What was written, exactly. `document` is the same for filters, without what jsonb refuses.
  value text not null,
  document jsonb not null,
  ttl_minutes double precision,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, namespace, key)
);
create index store_items_by_update on store_items (workspace_id, updated_at desc);
create index store_items_expiring on store_items (expires_at) where expires_at is not null;

-- Unit vectors, so that similarity is one inner product. An item has one per indexed text.
create table store_vectors (
  workspace_id uuid not null,
  namespace text collate "C" not null,
  key text collate "C" not null,
  position integer not null,
  embedding real[] not null,
  primary key (workspace_id, namespace, key, position),
  foreign key (workspace_id, namespace, key) references store_items on delete cascade
);

create table crons (
  cron_id uuid primary key,
  workspace_id uuid not null,
  assistant_id uuid not null,
  -- Null: every firing gets a thread of its own.
  thread_id uuid references threads on delete cascade,
  user_id text,
  schedule text not null,
  timezone text,
  end_time timestamptz,
  on_run_completed text not null default 'delete' check (on_run_completed in ('delete', 'keep')),
  enabled boolean not null default true,
  -- The body of the runs it starts.
  payload_json text not null,
  metadata jsonb not null default '{}',
  -- Null while it is disabled and once its end has come.
  next_run_date timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (workspace_id, assistant_id) references assistants on delete cascade,
  constraint crons_disabled_is_not_due check (enabled or next_run_date is null)
);
create index crons_due on crons (next_run_date) where next_run_date is not null;
create index crons_by_creation on crons (workspace_id, created_at desc);
create index crons_of_assistant on crons (workspace_id, assistant_id);
create index crons_of_thread on crons (thread_id) where thread_id is not null;

-- A due time that was taken and whose run is not started yet. Written in the transaction that moves the cron
-- on, removed when the run exists: a process that dies in between leaves it to another one.
create table cron_firings (
  firing_id uuid primary key,
  cron_id uuid not null references crons on delete cascade,
  due_at timestamptz not null,
  attempts integer not null default 1,
  lease_expires_at timestamptz not null,
  unique (cron_id, due_at)
);
create index cron_firings_leased on cron_firings (lease_expires_at);
