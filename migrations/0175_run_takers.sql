-- Which of the processes that share a database take runs: those that wait are dealt to them in turn.
-- oldest code: 0100
alter table server_processes add column takes_runs boolean not null default false;
