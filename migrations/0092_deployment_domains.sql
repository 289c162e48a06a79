-- Domains of deployments: hosts at whose root a deployment is served. Several may claim one; one at most has proved it.
create table deployment_domains (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id) on delete cascade,
  deployment_id uuid not null references deployments (id) on delete cascade,
  domain text not null check (domain = lower(domain)),
  problem text check (problem in ('record_missing', 'record_other', 'dns_failed', 'claimed_elsewhere')),
  checked_at timestamptz,
  verified_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create unique index deployment_domains_claim on deployment_domains (deployment_id, domain);
create unique index deployment_domains_verified on deployment_domains (domain) where verified_at is not null;
create index deployment_domains_pending on deployment_domains (expires_at) where verified_at is null;
