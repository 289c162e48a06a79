-- Runs of a thread, roots or not: a filter by thread alone read everything.
drop index trace_runs_of_thread;
create index trace_runs_of_thread on trace_runs (thread_id) where thread_id is not null;
