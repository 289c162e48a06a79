-- Builds that run in pods of a cluster: what each has to do, the token its pod shows, and what it reported.
-- oldest code: 0100
create table build_pods (
  id uuid primary key,
  revision_id uuid not null unique references revisions (id) on delete cascade,
  token_sealed text not null,
  work jsonb not null,
  report jsonb,
  created_at timestamptz not null
);
