-- OAuth providers, the tokens people granted through them, and the consents on their way.

create table auth_providers (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  -- Null: a platform provider, for every workspace.
  workspace_id uuid references workspaces (id),
  -- What people call it; part of paths and of the redirect URI.
  provider_id text not null,
  name text not null,
  client_id text not null,
  client_secret_sealed text,
  auth_url text not null,
  token_url text not null,
  revocation_url text,
  -- Read from the server's own metadata; looked for again a day after it was not found.
  found_revocation_url text,
  metadata_checked_at timestamptz,
  issuer text,
  uses_pkce boolean not null,
  code_challenge_method text,
  provider_type text,
  template text,
  mcp_server_url text,
  -- The `resource` parameter, where the server's metadata asks for one.
  resource text,
  token_endpoint_auth_method text not null,
  authorization_params jsonb,
  is_dynamic_client boolean not null default false,
  allowed_redirect_uris text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Gone for every caller; the row stays until the tokens behind it are revoked.
  deleted_at timestamptz
);
create unique index auth_providers_workspace on auth_providers (workspace_id, provider_id)
  where deleted_at is null and workspace_id is not null;
create unique index auth_providers_platform on auth_providers (provider_id)
  where deleted_at is null and workspace_id is null;
create index auth_providers_organization on auth_providers (organization_id) where deleted_at is null;
create index auth_providers_name on auth_providers (provider_id) where deleted_at is null;

create table auth_tokens (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  provider uuid not null references auth_providers (id),
  owner_id uuid not null references users (id),
  -- The end user on whose behalf the owner acts; empty: the owner.
  subject text not null default '',
  -- The agent the token was granted to; empty: any agent of the owner.
  agent_id text not null default '',
  status text not null default 'active' check (status in ('active', 'dead')),
  access_token_sealed text not null,
  refresh_token_sealed text,
  scopes text[] not null default '{}',
  expires_at timestamptz,
  -- From here on a reader has it refreshed first.
  stale_at timestamptz,
  -- From here on the background job refreshes it.
  refresh_at timestamptz,
  refresh_failures integer not null default 0,
  -- Who the provider says the account is; tells one account from another.
  account_key text,
  provider_account_label text,
  metadata jsonb,
  is_default boolean not null default false,
  -- One higher with every change of the secrets: who refreshes must have seen the newest ones.
  version integer not null default 1,
  lease_token uuid,
  lease_expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index auth_tokens_identity on auth_tokens (workspace_id, owner_id, provider, subject, agent_id);
create unique index auth_tokens_default on auth_tokens (workspace_id, owner_id, provider, subject, agent_id)
  where is_default;
create index auth_tokens_provider on auth_tokens (provider);
create index auth_tokens_refresh on auth_tokens (refresh_at) where status = 'active' and refresh_at is not null;

create table auth_connections (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  agent_id text not null,
  oauth_token_id uuid not null references auth_tokens (id) on delete cascade,
  created_by uuid not null references users (id),
  created_at timestamptz not null default now(),
  unique (workspace_id, agent_id, oauth_token_id)
);
create index auth_connections_token on auth_connections (oauth_token_id);

create table auth_authorizations (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  provider uuid not null references auth_providers (id) on delete cascade,
  initiator_id uuid not null references users (id),
  subject_kind text not null check (subject_kind in ('user', 'agent')),
  subject text not null default '',
  agent_id text not null default '',
  -- SHA-256 of the random part of `state`.
  state_hash text not null,
  code_verifier_sealed text,
  redirect_uri text not null,
  scopes text[] not null,
  is_default boolean not null,
  -- The token the consent renews; null: a further account.
  renews_token_id uuid references auth_tokens (id) on delete set null,
  status text not null default 'pending' check (status in ('pending', 'claimed', 'completed', 'failed')),
  failure text,
  token_id uuid references auth_tokens (id) on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index auth_authorizations_expiry on auth_authorizations (expires_at);
create index auth_authorizations_provider on auth_authorizations (provider);
create index auth_authorizations_renews on auth_authorizations (renews_token_id) where renews_token_id is not null;
create index auth_authorizations_token on auth_authorizations (token_id) where token_id is not null;

-- What happened to tokens; outlives them.
create table auth_token_events (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  owner_id uuid not null references users (id),
  token_id uuid not null,
  provider_id text not null,
  agent_id text,
  event_type text not null,
  reason text,
  source text,
  provider_account_label text,
  scopes text[] not null default '{}',
  detail text,
  acknowledged_at timestamptz,
  created_at timestamptz not null default now()
);
create index auth_token_events_feed on auth_token_events (workspace_id, owner_id, created_at desc, id desc);
create index auth_token_events_age on auth_token_events (created_at);

-- Where a workspace wants to hear of token events.
create table auth_webhooks (
  workspace_id uuid primary key references workspaces (id),
  url text not null,
  secret_sealed text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
