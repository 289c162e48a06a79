-- Datasets have versions. A version is a time at which examples were added, changed or removed. trace_examples holds what
-- is now; what was before stands in trace_example_history, each state with the times it held from and to. What a dataset
-- was at a time is what is now and has not changed since, and what held at that time.
--
-- Times of versions have milliseconds and no more, because clients that read one into a date keep no more.

alter table trace_datasets add column version_at timestamptz not null default date_trunc('milliseconds', now());
alter table trace_examples add column version_at timestamptz;
update trace_examples set version_at = modified_at;
alter table trace_examples alter column version_at set not null;
update trace_datasets d set version_at = greatest(d.modified_at,
  (select max(e.version_at) from trace_examples e where e.dataset_id = d.id));

create table trace_example_history (
  example_id uuid not null,
  workspace_id uuid not null,
  dataset_id uuid not null references trace_datasets on delete cascade,
  valid_from timestamptz not null,
  -- Exclusive.
  valid_to timestamptz not null,
  inputs text not null,
  outputs text,
  metadata jsonb,
  source_run_id uuid,
  position bigint not null,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  primary key (example_id, valid_from)
);
create index trace_example_history_of_dataset on trace_example_history (dataset_id, valid_to);

create table trace_dataset_versions (
  dataset_id uuid not null references trace_datasets on delete cascade,
  as_of timestamptz not null,
  primary key (dataset_id, as_of)
);
insert into trace_dataset_versions (dataset_id, as_of)
select id, version_at from trace_datasets union select dataset_id, version_at from trace_examples;

-- A tag points at a version and may be moved to another.
create table trace_dataset_tags (
  dataset_id uuid not null references trace_datasets on delete cascade,
  tag text not null,
  as_of timestamptz not null,
  primary key (dataset_id, tag)
);
