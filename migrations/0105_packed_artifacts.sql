-- Built deployments that are packed in the storage, where other servers find them, with what they are checked by.
-- oldest code: 0100
alter table build_artifacts
  add column sha256 text,
  add column packed_bytes bigint;
