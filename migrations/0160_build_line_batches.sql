-- Lines of a build in a pod come in numbered batches, so that one which is sent again is stored once.
-- oldest code: 0100
alter table build_pods
  add column log_sender uuid,
  add column log_batch integer not null default 0;
