-- Which groups of three letters occur in a thread's values (src/platform/db/trigrams.ts): a search passes over threads that
-- lack a bit of its words without reading their values. Null: not known, so it is read. Threads that are there already
-- are not known until they are written again; a new one holds nothing yet.
alter table threads add column trigrams bit(1024);
alter table threads alter column trigrams set storage plain;
alter table threads alter column trigrams set default repeat('0', 1024)::bit(1024);

-- The bits side by side, newest first: the order threads are searched in.
drop index threads_by_update;
create index threads_by_update on threads (workspace_id, updated_at desc, thread_id desc) include (trigrams);
