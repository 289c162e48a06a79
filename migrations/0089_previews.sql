-- A deployment per pull request: whether a deployment has them, and which deployment is one of whose.
alter table deployments
  add column previews boolean not null default false,
  add column previews_share_secrets boolean not null default false,
  add column preview_of uuid references deployments (id) on delete set null,
  add column preview_number integer,
  add column preview_seen_at timestamptz;
create unique index deployments_one_preview on deployments (preview_of, preview_number)
  where deleted_at is null and preview_of is not null;
