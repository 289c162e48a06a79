-- What is built for a workspace is that workspace's. Rows from before have none; they serve the revisions that name
-- them and are found by no new build, because its key names a workspace.
alter table build_artifacts add column workspace_id uuid references workspaces (id) on delete cascade;
create index build_artifacts_workspace on build_artifacts (workspace_id);
