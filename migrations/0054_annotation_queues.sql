-- Queues of runs and threads that people look at one by one.
create table trace_annotation_queues (
  id uuid primary key,
  workspace_id uuid not null references workspaces (id),
  name text not null,
  description text,
  rubric_instructions text,
  rubric_items jsonb,
  default_dataset uuid,
  metadata jsonb,
  -- An item is done when so many have completed it.
  num_reviewers_per_item integer not null default 1 check (num_reviewers_per_item > 0),
  enable_reservations boolean not null default false,
  reservation_minutes integer not null default 1 check (reservation_minutes > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index trace_annotation_queues_of_workspace on trace_annotation_queues (workspace_id, created_at desc);

create table trace_annotation_items (
  id uuid primary key,
  queue_id uuid not null references trace_annotation_queues on delete cascade,
  workspace_id uuid not null,
  item_type text not null check (item_type in ('RUN', 'THREAD')),
  -- Of a run: its id. Of a thread: its id within the project.
  run_id uuid,
  project_id uuid,
  thread_id text,
  start_time timestamptz,
  source_proposed_example_id uuid,
  added_at timestamptz not null default now(),
  last_reviewed_time timestamptz
);
create unique index trace_annotation_items_run on trace_annotation_items (queue_id, run_id) where run_id is not null;
create unique index trace_annotation_items_thread on trace_annotation_items (queue_id, project_id, thread_id)
  where thread_id is not null;
create index trace_annotation_items_in_order on trace_annotation_items (queue_id, added_at, id);
create index trace_annotation_items_of_run on trace_annotation_items (workspace_id, run_id) where run_id is not null;

-- What each reviewer did with an item.
create table trace_annotation_statuses (
  item_id uuid not null references trace_annotation_items on delete cascade,
  reviewer uuid not null,
  status text not null check (status in ('viewed', 'completed')),
  -- Where the item stands for this reviewer, when it was put off.
  override_added_at timestamptz,
  at timestamptz not null default now(),
  primary key (item_id, reviewer)
);
