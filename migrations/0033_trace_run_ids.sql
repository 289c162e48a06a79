-- Where a run stands. trace_runs is partitioned by start_time, and no index spans partitions: an id alone would be
-- looked for in each of them, and the same id sent again with another time would make a second run. Ingestion asks
-- here first and then reads one row by its whole key, a plan that no statistics can make worse.
--
-- A row may be older than its run (claimed before the run is written) or outlive it: it tells where to look, not
-- that there is something.
create table trace_run_ids (
  id uuid not null,
  workspace_id uuid not null,
  start_time timestamptz not null,
  primary key (id, workspace_id)
);
-- For the retention of whole months.
create index trace_run_ids_by_time on trace_run_ids using brin (start_time);

insert into trace_run_ids (id, workspace_id, start_time)
select id, workspace_id, max(start_time) from trace_runs group by id, workspace_id;
