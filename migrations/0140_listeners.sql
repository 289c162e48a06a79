-- Listeners take deployments: which process of which place has the lease on one, since when it is known, and how far its
-- reports have been stored.
-- oldest code: 0100
alter table listeners
  add column place uuid,
  add column holder uuid,
  add column lease_epoch bigint not null default 0,
  add column leased_until timestamptz,
  add column seen_at timestamptz,
  add column process jsonb,
  add column event_cursor bigint not null default 0,
  add column log_cursor bigint not null default 0,
  add column metrics_until timestamptz;
-- On the platform: where the listener serves a deployment, and whether it still has something of it. In the database of
-- a listener: whether a deployment comes from the platform, and which request for a restart was followed.
alter table deployments
  add column remote_url text,
  add column remote_held boolean not null default false,
  add column mirrored boolean not null default false,
  add column mirrored_restart_at timestamptz;
create index deployments_listener on deployments ((source_config->>'listener_id')) where source_config->>'listener_id' is not null;
-- Until now what named a listener was started by this server, and it still runs here.
update deployments set source_config = source_config || '{"listener_id": null, "listener_config": null}'
  where source_config->>'listener_id' is not null and active_revision_id is not null;
alter table api_keys
  drop constraint api_keys_scopes_known,
  add constraint api_keys_scopes_known check (
    scopes <@ array['read', 'runs', 'traces:write', 'deploy', 'export', 'accounts', 'listener', 'admin'] and cardinality(scopes) > 0);
