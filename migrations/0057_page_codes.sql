-- Codes by which a browser that is signed in to the console enters the pages of one deployment, once and within a minute.
-- Using one deletes it. Only the hash is kept.
create table page_codes (
  hash text primary key,
  workspace_id uuid not null references workspaces (id),
  -- The console session that asked: what the code is exchanged for ends with it.
  session_id uuid not null references console_sessions (id) on delete cascade,
  deployment_id uuid not null,
  -- Where it may be exchanged, and for which attempt of which browser.
  origin text not null,
  state_hash text not null,
  expires_at timestamptz not null
);
create index page_codes_session on page_codes (session_id);
create index page_codes_end on page_codes (expires_at);
