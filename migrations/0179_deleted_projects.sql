-- Projects that wait for the removal of their runs, asked for every minute.
-- oldest code: 0100
-- concurrently
create index concurrently if not exists trace_projects_deleted on trace_projects (deleted_at) where deleted_at is not null;
