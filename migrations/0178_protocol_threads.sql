-- Threads of the streaming protocol that were used since: a round of pruning looks at those alone.
-- oldest code: 0100
-- concurrently
create index concurrently if not exists threads_of_protocol on threads (updated_at) where protocol;
