-- How much of its log a build in a pod has stored: there is a limit.
-- oldest code: 0100
alter table build_pods
  add column log_lines integer not null default 0,
  add column log_bytes bigint not null default 0;
