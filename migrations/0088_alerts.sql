-- Rules that watch runs and exports of a workspace, how each stands, what happened, and whom it was sent to.
create table alert_rules (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id) on delete cascade,
  name text not null,
  kind text not null check (kind in ('error_rate', 'latency_p95', 'no_traffic', 'export_failed')),
  scope text not null check (scope in ('deployment', 'project', 'workspace')),
  scope_id uuid,
  window_minutes integer not null check (window_minutes between 1 and 1440),
  threshold double precision,
  min_runs integer not null default 1 check (min_runs >= 1),
  emails text[] not null default '{}',
  webhook_host text,
  webhook_sealed text,
  enabled boolean not null default true,
  muted_until timestamptz,
  state text not null default 'ok' check (state in ('ok', 'firing', 'resolved')),
  state_since timestamptz not null,
  last_value double precision,
  problem text,
  evaluated_at timestamptz,
  tested_at timestamptz,
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((scope = 'workspace') = (scope_id is null)),
  check ((webhook_host is null) = (webhook_sealed is null))
);
create index alert_rules_of_workspace on alert_rules (workspace_id, created_at desc, id desc);
create index alert_rules_due on alert_rules (evaluated_at nulls first) where enabled;

create table alert_events (
  id uuid primary key,
  rule_id uuid not null references alert_rules (id) on delete cascade,
  workspace_id uuid not null,
  kind text not null check (kind in ('firing', 'resolved', 'test')),
  value double precision,
  message text not null,
  muted boolean not null default false,
  at timestamptz not null
);
create index alert_events_of_rule on alert_events (rule_id, at desc, id desc);
create index alert_events_age on alert_events (at);

create table alert_deliveries (
  id uuid primary key,
  event_id uuid not null references alert_events (id) on delete cascade,
  channel text not null check (channel in ('webhook', 'email')),
  target text not null,
  status text not null default 'pending' check (status in ('pending', 'sent', 'failed')),
  attempts integer not null default 0,
  error text,
  sent_at timestamptz
);
create index alert_deliveries_of_event on alert_deliveries (event_id);
