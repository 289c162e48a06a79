-- That the first administrator's key was made, and where it was written: servers that start later on this database make no other.
-- oldest code: 0100
create table installation (
  is_only boolean primary key default true,
  key_host text not null,
  key_path text not null,
  made_at timestamptz not null,
  constraint installation_only_one check (is_only)
);
