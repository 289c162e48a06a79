-- Conversations that whoever has the token may read, as they were when they were shared. The token is the whole credential.
create table chat_shares (
  token uuid primary key,
  workspace_id uuid not null references workspaces (id),
  -- Who shared it.
  user_id uuid not null,
  -- The server it was held on, and its thread there: `built-in`, a deployment's id, or one the browser gave.
  server text not null,
  thread text not null,
  title text not null,
  -- As text: it is read by people, never by a query.
  messages_json text not null,
  created_at timestamptz not null default now()
);
create unique index chat_shares_of_thread on chat_shares (workspace_id, server, thread);
