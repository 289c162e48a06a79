-- The same for tokens and costs.
-- oldest code: 0100
-- concurrently
create index concurrently if not exists trace_parked_usage_by_age on trace_parked_usage (received_at);
