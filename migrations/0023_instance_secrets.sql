-- What the gateway says to a server and the server asks for, so that nobody else on the machine can use its port.
-- Null for servers started before there was one.
alter table deployment_instances add column secret_sealed text;
