import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import type { DatasetDiff, DatasetVersion } from "./dataset-version.ts";
import { examplesAt } from "./example-store.ts";

/**
 * Begins a new version and locks the dataset until the transaction ends, so that versions follow one another in the
 * order of their commits. Undefined when the dataset does not exist.
 */
export async function beginVersion(
  sql: Sql,
  workspaceId: string,
  datasetId: string,
): Promise<string | undefined> {
  const { rows } = await raw<{ at: string }>`
    with begun as (
      update trace_datasets d set modified_at = next.at, version_at = next.at
      from (select id, greatest(date_trunc('milliseconds', clock_timestamp()), version_at + interval '1 millisecond') as at
            from trace_datasets where id = ${datasetId} and workspace_id = ${workspaceId} for update) next
      where d.id = next.id returning d.id, d.version_at
    ), kept as (
      insert into trace_dataset_versions (dataset_id, as_of) select id, version_at from begun
    )
    select ${raw.raw(timeTextSql("version_at"))} as at from begun
  `.execute(sql);
  return rows[0]?.at;
}

export async function insertFirstVersion(sql: Sql, datasetId: string): Promise<void> {
  await raw`
    insert into trace_dataset_versions (dataset_id, as_of)
    select id, version_at from trace_datasets where id = ${datasetId}
  `.execute(sql);
}

const columns = raw.raw(
  `${timeTextSql("v.as_of")} as as_of,
   array(select t.tag from trace_dataset_tags t where t.dataset_id = v.dataset_id and t.as_of = v.as_of order by t.tag) as tags`,
);

/** Newest first. */
export async function listVersions(
  sql: Sql,
  datasetId: string,
  page: { search?: string | undefined; limit: number; offset: number },
): Promise<DatasetVersion[]> {
  const search =
    page.search === undefined
      ? raw`true`
      : raw`exists (select 1 from trace_dataset_tags t where t.dataset_id = v.dataset_id and t.as_of = v.as_of
          and position(lower(${page.search}) in lower(t.tag)) > 0)`;
  const { rows } = await raw<DatasetVersion>`
    select ${columns} from trace_dataset_versions v where v.dataset_id = ${datasetId} and ${search}
    order by v.as_of desc limit ${page.limit} offset ${page.offset}
  `.execute(sql);
  return rows;
}

/** The version that held at a time. */
export async function findVersionAt(
  sql: Sql,
  datasetId: string,
  time: string | null,
): Promise<DatasetVersion | undefined> {
  const bound = time === null ? raw`true` : raw`v.as_of <= ${time}::timestamptz`;
  const { rows } = await raw<DatasetVersion>`
    select ${columns} from trace_dataset_versions v where v.dataset_id = ${datasetId} and ${bound}
    order by v.as_of desc limit 1
  `.execute(sql);
  return rows[0];
}

export async function findTaggedVersion(
  sql: Sql,
  datasetId: string,
  tag: string,
): Promise<DatasetVersion | undefined> {
  const { rows } = await raw<DatasetVersion>`
    select ${columns} from trace_dataset_versions v
    where v.dataset_id = ${datasetId}
      and v.as_of = (select t.as_of from trace_dataset_tags t where t.dataset_id = ${datasetId} and t.tag = ${tag})
  `.execute(sql);
  return rows[0];
}

export async function moveTag(sql: Sql, datasetId: string, tag: string, asOf: string): Promise<void> {
  await raw`
    insert into trace_dataset_tags (dataset_id, tag, as_of) values (${datasetId}, ${tag}, ${asOf}::timestamptz)
    on conflict (dataset_id, tag) do update set as_of = excluded.as_of
  `.execute(sql);
}

/** An example counts as modified when its content differs, not when it was written again. */
export async function diffVersions(
  sql: Sql,
  datasetId: string,
  from: string,
  to: string,
): Promise<DatasetDiff> {
  const at = (time: string) => raw`(select * from ${examplesAt(time)} e where e.dataset_id = ${datasetId})`;
  const { rows } = await raw<DatasetDiff>`
    select coalesce(array_agg(n.id order by n.position) filter (where o.id is null), '{}') as examples_added,
      coalesce(array_agg(o.id order by o.position) filter (where n.id is null), '{}') as examples_removed,
      coalesce(array_agg(n.id order by n.position) filter (where o.id is not null and n.id is not null), '{}')
        as examples_modified
    from ${at(from)} o full join ${at(to)} n on n.id = o.id
    where o.id is null or n.id is null
      or (n.version_at <> o.version_at and (n.inputs, n.outputs, n.metadata) is distinct from (o.inputs, o.outputs, o.metadata))
  `.execute(sql);
  return rows[0]!;
}

/** The names of the splits its examples are in. */
export async function listSplits(sql: Sql, datasetId: string, asOf: string | undefined): Promise<string[]> {
  const { rows } = await raw<{ split: string }>`
    select distinct split from ${examplesAt(asOf)} e
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(e.metadata -> 'dataset_split') when 'array' then e.metadata -> 'dataset_split'
        when 'string' then jsonb_build_array(e.metadata -> 'dataset_split') else '[]'::jsonb end) split
    where e.dataset_id = ${datasetId} order by split
  `.execute(sql);
  return rows.map((row) => row.split);
}
