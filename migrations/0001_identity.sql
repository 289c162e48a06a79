-- Who may call, and in which workspace. A workspace's id is the tenant id of every other table.

create table organizations (
  id uuid primary key,
  name text not null,
  plan text not null default 'free' check (plan in ('free', 'plus', 'enterprise')),
  created_at timestamptz not null default now()
);

create table workspaces (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Set by DELETE: the workspace is gone for every caller while its rows wait to be purged.
  deleted_at timestamptz
);
create index workspaces_organization on workspaces (organization_id, created_at, id);

create table users (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  email text not null,
  name text not null,
  -- The administrator that a first start creates; at most one per organization.
  is_bootstrap boolean not null default false,
  created_at timestamptz not null default now()
);
create unique index users_email on users (organization_id, lower(email));
create unique index users_bootstrap on users (organization_id) where is_bootstrap;

create table memberships (
  workspace_id uuid not null references workspaces (id),
  user_id uuid not null references users (id),
  role text not null check (role in ('viewer', 'editor', 'admin')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, user_id)
);
create index memberships_user on memberships (user_id);

create table api_keys (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id),
  -- Null: every workspace the user is a member of.
  workspace_id uuid references workspaces (id),
  name text not null,
  -- The part of the key that lists may show.
  prefix text not null,
  -- HMAC-SHA-256 of the key under the installation's pepper, in hex.
  hash text not null unique,
  role text not null check (role in ('viewer', 'editor', 'admin')),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index api_keys_user on api_keys (user_id) where revoked_at is null;

-- Keys that sign console sessions. Verification looks one up by id, so several may be valid at once.
create table signing_keys (
  id uuid primary key,
  algorithm text not null,
  public_jwk jsonb not null,
  private_jwk_sealed text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);

-- Random values of this installation, sealed with the encryption key.
create table install_secrets (
  name text primary key,
  value_sealed text not null,
  created_at timestamptz not null default now()
);

-- One row per encryption key in use. The check value tells a wrong key at start, before anything is written.
create table encryption_keys (
  key_id text primary key,
  check_sealed text not null,
  created_at timestamptz not null default now(),
  retired_at timestamptz
);
