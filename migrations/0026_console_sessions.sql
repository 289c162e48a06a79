-- People in browsers: their sessions, the links that begin one, and who they are at the single sign-on provider.

create table console_sessions (
  id uuid primary key,
  -- HMAC-SHA-256 of the cookie's value under the installation's pepper, in hex.
  hash text not null unique,
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id),
  -- Where requests act that name no workspace; null before the first choice.
  workspace_id uuid references workspaces (id),
  -- The key it was started with, whose limits are the session's and whose revocation ends it.
  api_key_id uuid references api_keys (id),
  method text not null check (method in ('key', 'link', 'oidc')),
  user_agent text not null default '',
  address text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- When it ends unless it is used before, and when it ends in any case.
  idle_expires_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index console_sessions_user on console_sessions (user_id, created_at desc, id) where revoked_at is null;
create index console_sessions_end on console_sessions (least(idle_expires_at, expires_at));

-- One-time links. Only their hash is kept.
create table sign_in_codes (
  id uuid primary key,
  hash text not null unique,
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index sign_in_codes_end on sign_in_codes (expires_at);

-- Who somebody is at an OpenID Connect provider: the subject there, never the address, which may be given to others.
create table user_logins (
  organization_id uuid not null references organizations (id),
  issuer text not null,
  subject text not null,
  user_id uuid not null references users (id),
  -- The workspace in which the provider's groups decide about the membership; null where an administrator does.
  granted_workspace_id uuid references workspaces (id),
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  primary key (organization_id, issuer, subject)
);
create unique index user_logins_user on user_logins (user_id, issuer);
