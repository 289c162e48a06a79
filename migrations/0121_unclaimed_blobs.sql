-- Blobs that no row names: those that are being made, and those that are to be removed.
-- oldest code: 0113
create table unclaimed_blobs (
  key text not null primary key,
  since timestamptz not null default now(),
  -- Nobody may claim it any more.
  removing boolean not null default false
);
create index unclaimed_blobs_age on unclaimed_blobs (since);
