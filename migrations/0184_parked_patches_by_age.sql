-- Patches whose run never came are looked at every minute for a week: only those that have just come to wait are, by this.
-- oldest code: 0100
-- concurrently
create index concurrently if not exists trace_parked_patches_by_age on trace_parked_patches (received_at);
