-- A listener's id is compared in lower case; a deployment that was made with it in capitals waited for a listener that nobody is.
-- oldest code: 0100
update deployments set source_config = jsonb_set(source_config, '{listener_id}', to_jsonb(lower(source_config ->> 'listener_id')))
where source_config ->> 'listener_id' <> lower(source_config ->> 'listener_id');
