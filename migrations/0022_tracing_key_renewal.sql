-- Keys the platform makes for itself stand apart from those of people.
alter table api_keys add column managed boolean not null default false;
update api_keys set managed = true where id in (select api_key_id from tracing_keys);

-- The platform's key a server was started with, and null when it sends no traces here. When the workspace's key is
-- another one, the server's traces are refused and it is replaced.
alter table deployment_instances add column tracing_key_id uuid;
