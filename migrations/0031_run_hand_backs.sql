-- Attempts that ended through no fault of the run do not count towards its limit: a stop, an outage of the database, a
-- neighbour that blocked the process. Attempts themselves only count up, because they fence writes.
alter table runs add column excused integer not null default 0;

-- The run blocked the event loop of its process: the next attempt has a process to itself.
alter table runs add column alone boolean not null default false;
