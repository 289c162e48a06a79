-- What was looked for by it is found by `thread_events_to_prune`.
-- oldest code: 0100
drop index if exists thread_events_by_age;
