-- Each request that fills an upload has a blob of its own; the first one has the key that older code knows.
-- oldest code: 0113
alter table source_uploads
  add column attempts integer not null default 0,
  add column attempt integer,
  -- A revision was seen to use it.
  add column is_used boolean not null default false;
create index source_uploads_unused on source_uploads (expires_at) where not is_used;
