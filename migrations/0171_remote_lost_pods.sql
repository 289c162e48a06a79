-- Of a server at a listener, as it reports: none of its pods takes requests.
-- oldest code: 0100
alter table deployment_instances add column lost_pods boolean not null default false;
