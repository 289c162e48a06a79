-- Reports of one lease are numbered, so that one which arrives after a later one stores nothing.
-- oldest code: 0100
alter table listeners add column report_number bigint not null default 0;
