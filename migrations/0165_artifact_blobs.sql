-- Each stored artifact has a blob of its own; null: the key that older code knows. Older code builds anew what it does not find there.
-- oldest code: 0122
alter table build_artifacts add column blob_id uuid;
