-- The image a revision's servers run in, by name and by content: a name that moves later does not change what runs.
alter table revisions
  add column image_reference text,
  add column image_digest text;
