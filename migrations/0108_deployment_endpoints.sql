-- Where a deployed server takes requests: one row for a process or a container, one for each of several replicas.
-- oldest code: 0100
create table deployment_endpoints (
  instance_id uuid not null references deployment_instances (id) on delete cascade,
  -- What runs there, by the name the runtime has for it.
  name text not null,
  host text not null,
  port integer not null constraint deployment_endpoints_port_check check (port between 1 and 65535),
  ready boolean not null,
  primary key (instance_id, name)
);
insert into deployment_endpoints (instance_id, name, host, port, ready)
select id, 'main', '127.0.0.1', port, state in ('ready', 'draining') from deployment_instances where state <> 'exited';
