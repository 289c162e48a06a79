-- Who did what to what, from where, with which key. Rows outlive what they tell of, so nothing is referenced.

create table audit_events (
  id uuid primary key,
  -- Null: what belongs to no workspace, such as a credential nobody knows.
  workspace_id uuid,
  organization_id uuid,
  at timestamptz not null,
  action text not null,
  outcome text not null check (outcome in ('done', 'refused', 'failed')),
  -- Of the HTTP answer; null where there was none.
  status integer,
  error_code text,
  actor_kind text not null check (actor_kind in ('person', 'service', 'loopback', 'anonymous', 'system')),
  -- How the actor was recognised.
  via text,
  user_id uuid,
  api_key_id uuid,
  session_id uuid,
  target_kind text,
  target_id text,
  target_name text,
  address text,
  user_agent text,
  request_id text,
  -- Small facts, such as a role or the names of secrets; never a secret.
  details jsonb not null default '{}'
);
create index audit_events_workspace on audit_events (workspace_id, at desc, id desc);
create index audit_events_user on audit_events (workspace_id, user_id, at desc, id desc) where user_id is not null;
create index audit_events_action on audit_events (workspace_id, action, at desc, id desc);
create index audit_events_target on audit_events (workspace_id, target_id, at desc, id desc) where target_id is not null;
create index audit_events_at on audit_events (at);

-- Append-only. Retention alone deletes, in a transaction that says so, and nothing younger than a day.
create function audit_events_stay() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('treadle.audit_retention', true) = 'on' then
    if old.at < now() - interval '1 day' then
      return old;
    end if;
  end if;
  raise exception 'audit_events is append-only: % is refused', tg_op using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_events_stay before update or delete on audit_events
  for each row execute function audit_events_stay();
create trigger audit_events_whole before truncate on audit_events
  for each statement execute function audit_events_stay();
