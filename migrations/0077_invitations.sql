-- Whether somebody has ever signed in. An invitation signs in only who has not: nothing of theirs can be reached with it.
alter table users add column signed_in_at timestamptz;
update users u set signed_in_at = u.created_at
where u.is_bootstrap
  or exists (select 1 from console_sessions s where s.user_id = u.id)
  or exists (select 1 from user_logins l where l.user_id = u.id)
  or exists (select 1 from api_keys k where k.user_id = u.id);

-- The workspace an invitation is for; null: a link that the operator made.
alter table sign_in_codes add column invited_to uuid references workspaces (id) on delete cascade;
