-- Keys that may do a part of what their role allows, and keys that belong to no person.

alter table api_keys
  -- Null: a service of the workspace. It is nobody's, has no accounts, and makes neither keys nor members.
  alter column user_id drop not null,
  -- Null: everything the role allows. Keys made before there were scopes stay as they are.
  add column scopes text[],
  -- The name of the one tracing project it may write to; it then opens nothing else.
  add column tracing_project text,
  -- Who made it. A key uses the accounts of its user only when that user made it; null is somebody unknown.
  add column created_by uuid references users (id),
  add constraint api_keys_scopes_known check (
    scopes <@ array['read', 'runs', 'traces:write', 'deploy', 'export', 'accounts', 'admin'] and cardinality(scopes) > 0),
  add constraint api_keys_one_project check (tracing_project is null or scopes = array['traces:write']),
  add constraint api_keys_service check (user_id is not null or
    (workspace_id is not null and scopes is not null and not scopes && array['accounts', 'admin']));
create index api_keys_workspace on api_keys (workspace_id) where revoked_at is null;

-- Who made the keys there are was not kept. Two kinds are certain: a key of every workspace could only be made by its
-- own user, and where an organization has one user there was nobody else.
update api_keys k set created_by = k.user_id
  where k.workspace_id is null
    or not exists (select from users u where u.organization_id = k.organization_id and u.id <> k.user_id);

-- The tracing keys of deployments were full keys of the first administrator. From this moment on they write traces and
-- nothing else; each server gets a key of its own and the old ones end.
update api_keys set user_id = null, created_by = null, scopes = array['traces:write'],
    expires_at = least(expires_at, now() + interval '7 days')
  where id in (select api_key_id from tracing_keys) and workspace_id is not null;

create table deployment_tracing_keys (
  deployment_id uuid primary key references deployments (id) on delete cascade,
  api_key_id uuid not null,
  -- The project it is limited to.
  project text not null,
  key_sealed text not null,
  created_at timestamptz not null,
  -- From then on servers are given a new one, while this one still works.
  renew_at timestamptz not null
);
drop table tracing_keys;
