-- Where the person gives consent, kept so that it can be shown again. It carries the secret of `state`, so it is sealed,
-- and it goes when the consent comes to an end.
alter table auth_authorizations add column url_sealed text;
create index auth_authorizations_open on auth_authorizations (workspace_id, created_at desc) where status = 'pending';
