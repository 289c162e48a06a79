-- Payloads are compressed within their rows, where PostgreSQL has lz4: a page holds more runs, and less is written.
-- Rows that are there stay as they are.
-- oldest code: 0100
do $$
declare
  part record;
  field name;
begin
  if not exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any(enumvals)) then
    return;
  end if;
  for part in select relid, isleaf from pg_partition_tree('trace_runs') loop
    for field in
      select attname from pg_attribute
      where attrelid = part.relid and attnum > 0 and not attisdropped and attlen = -1 and attstorage <> 'p'
    loop
      execute format('alter table %s alter column %I set storage main, alter column %I set compression lz4', part.relid::regclass, field, field);
    end loop;
    if part.isleaf then
      execute format('alter table %s set (toast_tuple_target = 2040)', part.relid::regclass);
    end if;
  end loop;
end $$;
