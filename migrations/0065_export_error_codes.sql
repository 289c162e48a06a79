-- Why an export did not complete, as data: the sentence beside it is for people. Unknown for those that ended before.
alter table bulk_exports add column error_code text;
