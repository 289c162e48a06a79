-- How a server ended, and how a revision is doing, as data: sentences are made where they are read.
alter table deployment_instances
  add column exit_kind text,
  add column exit_detail text,
  add constraint deployment_instances_exit_kind_check check (exit_kind in
    ('stopped', 'port_taken', 'exit_code', 'signal', 'out_of_memory', 'removed', 'lost', 'unknown', 'not_started'));

update deployment_instances set
  exit_kind = case
    when exit_reason = 'stopped' then 'stopped'
    when exit_reason = 'its port was taken by another process' then 'port_taken'
    when exit_reason like 'exit code %' then 'exit_code'
    when exit_reason like 'signal %' then 'signal'
    when exit_reason like 'out of memory: %' then 'out_of_memory'
    when exit_reason = 'its container was removed' then 'removed'
    when exit_reason = 'ended while the platform was away' then 'unknown'
    else 'not_started'
  end,
  exit_detail = case
    when exit_reason like 'exit code %' then substr(exit_reason, 11)
    when exit_reason like 'signal %' then substr(exit_reason, 8)
    when exit_reason like 'out of memory: %' then substring(exit_reason from 'its limit is (\d+) MB')
    when exit_reason in ('stopped', 'its port was taken by another process', 'its container was removed',
      'ended while the platform was away') then null
    else exit_reason
  end
  where exit_reason is not null;

alter table deployment_instances drop column exit_reason;

alter table revisions
  add column condition text,
  add constraint revisions_condition_check check (condition in ('restarting', 'crash_loop'));

update revisions set condition = case
    when status_message like 'Crash loop: %' then 'crash_loop'
    when status_message like 'The server ended and is being started again.%' then 'restarting'
  end;
