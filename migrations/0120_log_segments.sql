-- Lines of earlier days are in the storage, in segments; each row here names one, and is there only when its blob is.
-- The lines of a segment have left deployment_logs with the transaction that made its row.
-- oldest code: 0113
alter table deployment_logs add column stored_at timestamptz not null default now();
create table deployment_log_segments (
  id uuid not null unique,
  deployment_id uuid not null references deployments (id) on delete cascade,
  kind text not null constraint deployment_log_segments_kind_check check (kind in ('build', 'deploy')),
  day date not null,
  -- Ids of lines. No two segments of one log overlap.
  first_id bigint not null,
  last_id bigint not null,
  -- Times the lines tell of themselves.
  first_at timestamptz not null,
  last_at timestamptz not null,
  lines integer not null,
  bytes bigint not null,
  revision_ids uuid[] not null,
  levels text[] not null,
  primary key (deployment_id, kind, last_id)
);
create index deployment_log_segments_day on deployment_log_segments (day);
