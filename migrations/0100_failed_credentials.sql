-- How many credentials were refused lately, for all servers of a database. Unlogged: after a crash of PostgreSQL the count begins anew.
-- oldest code: 0089
create unlogged table failed_credentials (
  bucket text primary key,
  refusals integer not null,
  ends_at timestamptz not null
);
create index failed_credentials_by_end on failed_credentials (ends_at);
