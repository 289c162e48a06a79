-- Whether a thread has runs waiting is asked whenever one begins and whenever one ends.
create index runs_pending_of_thread on runs (thread_id) where status = 'pending';

-- These two serve the queue and the leases alone. Their conditions name what only those ask for: with the status alone
-- the planner takes them for any question about it, and they hold every run that ended since the last vacuum.
drop index runs_leased;
create index runs_leased on runs (lease_expires_at) where lease_owner is not null;
drop index runs_waiting;
create index runs_waiting on runs (available_at) where status = 'pending' and ended_at is null;

-- Every search reads what is not yet sorted in, and the planner avoids an index with much of it.
alter index threads_by_metadata set (gin_pending_list_limit = 256);
