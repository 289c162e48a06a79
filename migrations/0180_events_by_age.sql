-- Events of runs' own streams go by age, those of the streaming protocol with their thread: only the former are looked at.
-- oldest code: 0100
-- concurrently
create index concurrently if not exists thread_events_to_prune on thread_events (created_at) where family <> 'protocol';
