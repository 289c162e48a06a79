-- In the database of a listener: up to which number the platform has its log lines. Later ones are kept.
-- oldest code: 0100
alter table mirror_state add column log_cursor bigint not null default 0;
