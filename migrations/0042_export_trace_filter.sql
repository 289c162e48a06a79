-- A filter on the root of a run's trace, beside the one on the run itself.
alter table bulk_exports add column trace_filter text;
