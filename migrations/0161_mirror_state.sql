-- In the database of a listener: the epoch of the lease by which what the platform wants is written here.
-- oldest code: 0100
create table mirror_state (
  only_row boolean primary key default true check (only_row),
  epoch bigint not null
);
