-- Whether a deployment is meant to run, and when somebody last asked for a new server of what serves.
alter table deployments
  add column desired_state text not null default 'running' check (desired_state in ('running', 'stopped')),
  add column stopped_at timestamptz,
  add column restart_requested_at timestamptz;
