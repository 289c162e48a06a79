-- Where the runs of traces are kept, so that a process with other settings notices it. `place` tells two ClickHouse databases apart,
-- and does not say where they are.
-- oldest code: 0100
create table trace_engine (
  is_only boolean primary key default true check (is_only),
  engine text not null check (engine in ('postgres', 'clickhouse')),
  place text,
  noted_at timestamptz not null default now(),
  check ((engine = 'clickhouse') = (place is not null))
);
