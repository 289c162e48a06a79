-- A list that only grew is stored as what it adds to an earlier version: a long conversation was written whole with every step.
-- oldest code: 0182
alter table checkpoint_blobs add column base_version text;
