-- Tokens nobody uses any more and whose provider has not been told yet: a consent for more replaced them, or their owner
-- deleted them without waiting for the provider. A job revokes each and deletes its row.
create table auth_pending_revocations (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  provider uuid not null references auth_providers (id) on delete cascade,
  owner_id uuid not null references users (id),
  token_id uuid not null,
  subject text not null default '',
  agent_id text not null default '',
  provider_account_label text,
  scopes text[] not null default '{}',
  source text not null,
  access_token_sealed text not null,
  refresh_token_sealed text,
  created_at timestamptz not null default now()
);
create index auth_pending_revocations_provider on auth_pending_revocations (provider);
