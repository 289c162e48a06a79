-- Deployments that nobody uses sleep: their server is stopped, and started again by the next request or when something is due.
-- sleep_settled: its own database was read after its server had ended, so wake_at is when something is due next.
-- oldest code: 0100
alter table deployments
  add column sleep_state text not null default 'awake'
    check (sleep_state in ('awake', 'falling_asleep', 'asleep', 'waking')),
  add column sleep_changed_at timestamptz,
  add column sleep_settled boolean not null default false,
  add column wake_at timestamptz;
create index deployments_to_wake on deployments (wake_at) where sleep_state = 'asleep';
-- Requests that only ask whether it answers. They are counted among the requests, but do not keep it awake.
alter table deployment_metrics add column probes integer not null default 0;
