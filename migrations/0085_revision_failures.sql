-- Why a revision failed, in the project's own words: a place in its source, a reason, and the lines of its own tool.
alter table revisions add column failure jsonb;
