-- What the servers of one database know: nothing is written that one of them could not read.
-- oldest code: 0100
alter table server_processes add column code integer;
