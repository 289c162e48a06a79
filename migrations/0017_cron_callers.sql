-- On whose behalf a cron starts its runs: who made it, as the server knew them then. Null for crons that are older.
alter table crons add column caller_json text;
