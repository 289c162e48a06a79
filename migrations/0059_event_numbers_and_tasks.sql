-- What clients see as the number of an event: within the streaming protocol from 1 without gaps per thread, within a
-- run's own stream from 0. Rows written before have none and are told by their place in the log, as they were then.
alter table thread_events add column number bigint;

alter table threads add column protocol_seq bigint not null default 0;
alter table threads add column pruned_protocol_seq bigint not null default 0;
update threads set protocol_seq = last_seq, pruned_protocol_seq = pruned_seq where protocol;

-- Tasks of other agents, listed by when something last happened to them. Runs of other clients are not in it.
create index runs_of_agents on runs (workspace_id, assistant_id, updated_at desc, run_id desc)
  where (metadata ->> 'a2a_task') is not null;
