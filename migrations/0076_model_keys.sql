-- Keys of model providers that people paste in the settings: sealed, one per workspace and provider.
create table model_keys (
  workspace_id uuid not null references workspaces (id) on delete cascade,
  provider text not null,
  key_sealed text not null,
  -- The last characters, so that people recognize which key it is.
  hint text not null,
  updated_by uuid references users (id) on delete set null,
  updated_at timestamptz not null,
  primary key (workspace_id, provider)
);
