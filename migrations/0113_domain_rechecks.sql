-- Verified domains are checked again: when next, and since when the proof is missing. Those there are already are spread over six hours.
-- oldest code: 0100
alter table deployment_domains
  add column next_check_at timestamptz not null default now(),
  add column missed_checks integer not null default 0,
  add column missing_since timestamptz,
  drop constraint deployment_domains_problem_check,
  add constraint deployment_domains_problem_check
    check (problem in ('record_missing', 'record_other', 'record_gone', 'dns_failed', 'claimed_elsewhere'));
update deployment_domains set next_check_at = now() + random() * interval '6 hours';
create index deployment_domains_due on deployment_domains (next_check_at) where verified_at is not null;
-- How often each workspace had DNS asked lately, for all servers of a database. Unlogged: a crash of PostgreSQL clears the counts.
create unlogged table domain_checks (
  workspace_id uuid primary key references workspaces (id) on delete cascade,
  checks integer not null,
  ends_at timestamptz not null
);
