-- A server that is drained is stopped only when every gateway has heard that it is. The epoch grows with each one that is
-- drained; its row is locked until the commit, so whoever reads an epoch sees everything up to it.
-- oldest code: 0100
create table gateway_epoch (
  singleton boolean primary key default true constraint gateway_epoch_singleton_check check (singleton),
  epoch bigint not null
);
insert into gateway_epoch (epoch) values (1);
alter table deployment_instances add column drain_epoch bigint;
create index deployment_instances_drained on deployment_instances (drain_epoch) where drain_epoch is not null and state <> 'exited';

-- Gateways that serve at the moment: the epoch each has heard of, and the requests it holds, by instance and endpoint.
-- Unlogged: after a crash of PostgreSQL each writes its row again as soon as it is connected.
create unlogged table gateways (
  id uuid primary key,
  seen_at timestamptz not null,
  epoch bigint not null,
  held jsonb not null
) with (fillfactor = 50);
