-- Views of a project's runs that people keep under a name: everybody in the workspace sees them.
create table trace_saved_views (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id) on delete cascade,
  project_id uuid not null references trace_projects (id) on delete cascade,
  name text not null,
  filter text not null,
  columns text[] not null,
  sort text,
  -- What else the list can be narrowed by: the time, whole traces, errors, slow ones.
  options jsonb not null,
  created_by uuid references users (id) on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index trace_saved_views_name on trace_saved_views (project_id, name);
