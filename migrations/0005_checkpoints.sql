-- Checkpoints of the graphs. Keys compare by bytes (collate "C"): checkpoint ids sort by time that way.
-- Payloads are text holding JSON (raw bytes as base64, told by `type`): jsonb refuses \u0000 and lone
-- surrogates, and arrays of bytea are slow to send. No foreign keys: every run writes here at each step.

create table checkpoints (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null,
  checkpoint_id text collate "C" not null,
  parent_checkpoint_id text collate "C",
  -- The run that wrote it, so that a rollback can remove exactly that.
  run_id uuid,
  -- The checkpoint without its channel values, and the small primitive values inline.
  structure text not null,
  metadata text not null,
  -- Where the other values are: checkpoint_blobs (channel, version), pairwise.
  blob_channels text[] collate "C" not null,
  blob_versions text[] collate "C" not null,
  created_at timestamptz not null default now(),
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);

-- One value of one channel; checkpoints that did not change the channel share it. No row for an empty one.
create table checkpoint_blobs (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null,
  channel text collate "C" not null,
  version text collate "C" not null,
  type text not null,
  payload text not null,
  primary key (thread_id, checkpoint_ns, channel, version)
);

-- What the tasks of a step wrote before the next checkpoint. idx < 0: errors, interrupts, resume values.
create table checkpoint_writes (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null,
  checkpoint_id text collate "C" not null,
  task_id text collate "C" not null,
  idx integer not null,
  channel text collate "C" not null,
  type text not null,
  payload text not null,
  run_id uuid,
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
