-- Each stored artifact has a blob of its own; null: the key that older code knows. Code that knows packed artifacts without this column takes one with it for lost.
-- oldest code: 0122
alter table build_artifacts add column blob_id uuid;
