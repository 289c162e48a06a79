-- Each key acts for one listener: that of its first use, or that it was made for. It stays so when the listener is deleted.
-- oldest code: 0100
create table listener_keys (
  api_key_id uuid primary key references api_keys (id) on delete cascade,
  listener_id uuid not null,
  created_at timestamptz not null default now()
);
