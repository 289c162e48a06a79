-- Area B: bulk exports of traces.
--
-- An export is one-time (end_time) or a schedule (interval_hours); a schedule never runs itself but spawns
-- one-time exports, one per window. An export is split into runs, one per project and UTC day, each with a cursor:
-- everything at or before it is in the files the run names.

create table bulk_export_destinations (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  destination_type text not null,
  display_name text not null,
  config jsonb not null,
  -- JSON of the credentials; null: those of the machine.
  credentials_sealed text,
  credentials_keys text[] not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index bulk_export_destinations_of_workspace on bulk_export_destinations (workspace_id, created_at);

create table bulk_exports (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  bulk_export_destination_id uuid not null references bulk_export_destinations (id),
  session_id uuid,
  all_experiments boolean not null default false,
  start_time timestamptz not null,
  end_time timestamptz,
  interval_hours integer check (interval_hours between 1 and 168),
  filter text,
  export_fields text[],
  format text not null,
  format_version text not null,
  compression text not null,
  status text not null constraint bulk_exports_status_known
    check (status in ('CREATED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMEDOUT')),
  -- The schedule that spawned it.
  source_bulk_export_id uuid references bulk_exports (id),
  -- Of a schedule: the window to be spawned next, counted from start_time.
  next_window integer not null default 0,
  -- Why it did not complete, for people.
  error text,
  -- Experiments above the limit of one export, left out.
  skipped_session_ids uuid[] not null default '{}',
  -- Set once the runs are there.
  planned_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint bulk_exports_one_subject check ((session_id is not null) <> all_experiments),
  constraint bulk_exports_window_or_interval check ((end_time is null) = (interval_hours is not null))
);
create index bulk_exports_of_workspace on bulk_exports (workspace_id, created_at desc, id desc);
create index bulk_exports_of_destination on bulk_exports (bulk_export_destination_id);
create index bulk_exports_unfinished on bulk_exports (workspace_id, status, created_at)
  where status in ('CREATED', 'RUNNING');
-- One window is spawned once, whoever looks at the schedule.
create unique index bulk_exports_spawned on bulk_exports (source_bulk_export_id, start_time)
  where source_bulk_export_id is not null;

create table bulk_export_runs (
  id uuid primary key,
  bulk_export_id uuid not null references bulk_exports (id) on delete cascade,
  workspace_id uuid not null,
  session_id uuid not null,
  -- The part of the export's window this run covers.
  start_time timestamptz not null,
  end_time timestamptz not null,
  status text not null constraint bulk_export_runs_status_known
    check (status in ('CREATED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMEDOUT')),
  retry_number integer not null default 0,
  -- retry_0, retry_1, …: what stopped each attempt.
  errors jsonb,
  -- The folder of its files in the bucket.
  export_path text not null,
  -- [{"path", "rows", "bytes", "token"}]; the token is in the object's metadata too.
  files jsonb not null default '[]',
  rows_written bigint not null default 0,
  bytes_written bigint not null default 0,
  latest_cursor text,
  -- The file that is about to appear: {"target_cursor", "file_path", "rows_count", "bytes", "token"}.
  pending_upload jsonb,
  -- The queue's job that works on it.
  job_id uuid,
  started_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (bulk_export_id, session_id, start_time)
);
create index bulk_export_runs_unfinished on bulk_export_runs (bulk_export_id, start_time)
  where status in ('CREATED', 'RUNNING');
