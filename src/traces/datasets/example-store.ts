import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { Example } from "./dataset.ts";

const columns = raw.raw(
  `id, workspace_id, dataset_id, inputs, outputs, metadata, source_run_id,
   ${timeTextSql("created_at")} as created_at, ${timeTextSql("modified_at")} as modified_at`,
);
const kept = raw.raw(
  "workspace_id, dataset_id, inputs, outputs, metadata, source_run_id, position, created_at, modified_at",
);

/** Examples as they are, or as they were at a time. */
export function examplesAt(time: string | undefined): RawBuilder<unknown> {
  if (time === undefined) return raw`trace_examples`;
  return raw`(
    select id, ${kept}, version_at from trace_examples where version_at <= ${time}::timestamptz
    union all
    select example_id, ${kept}, valid_from from trace_example_history
    where valid_from <= ${time}::timestamptz and valid_to > ${time}::timestamptz)`;
}

export type NewExample = {
  id: string;
  inputs: string;
  outputs: string | null;
  metadata: Record<string, unknown> | null;
  sourceRunId: string | null;
  fromSourceRun: { io: boolean; attachments: string[] } | null;
  createdAt: string | null;
};

/** The ids that were written, in the order given; an id that is taken is not among them. */
export async function insertExamples(
  sql: Sql,
  place: { workspaceId: string; datasetId: string; version: string },
  examples: readonly NewExample[],
): Promise<string[]> {
  if (examples.length === 0) return [];
  const rows = examples.map(
    (
      each,
    ) => raw`(${each.id}::uuid, ${place.workspaceId}::uuid, ${place.datasetId}::uuid, ${each.inputs}, ${each.outputs},
      ${each.metadata === null ? null : jsonbText(JSON.stringify(each.metadata))}::jsonb, ${each.sourceRunId}::uuid,
      coalesce(${each.createdAt}::timestamptz, ${place.version}::timestamptz), ${place.version}::timestamptz,
      ${place.version}::timestamptz)`,
  );
  const result = await raw<{ id: string }>`
    insert into trace_examples (id, workspace_id, dataset_id, inputs, outputs, metadata, source_run_id, created_at,
      modified_at, version_at)
    values ${raw.join(rows)} on conflict do nothing returning id
  `.execute(sql);
  return result.rows.map((row) => row.id);
}

export async function findExample(
  sql: Sql,
  workspaceId: string,
  id: string,
  asOf?: string,
): Promise<Example | undefined> {
  const { rows } = await raw<Example>`
    select ${columns} from ${examplesAt(asOf)} e where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

/** In order: every change of several datasets locks them in the same order. */
export async function listDatasetsOf(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await raw<{ dataset_id: string }>`
    select distinct dataset_id from trace_examples
    where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId} order by dataset_id
  `.execute(sql);
  return rows.map((row) => row.dataset_id);
}

export type ExampleFilter = {
  datasetId?: string | undefined;
  ids?: string[] | undefined;
  splits?: string[] | undefined;
  metadata?: Record<string, unknown> | undefined;
  filter?: RawBuilder<unknown> | undefined;
  /** As they were at this time. */
  asOf?: string | undefined;
  limit: number;
  offset: number;
};

export async function listExamples(sql: Sql, workspaceId: string, filter: ExampleFilter): Promise<Example[]> {
  const where: RawBuilder<unknown>[] = [raw`workspace_id = ${workspaceId}`];
  if (filter.datasetId !== undefined) where.push(raw`dataset_id = ${filter.datasetId}`);
  if (filter.ids) where.push(raw`id = any(${filter.ids}::uuid[])`);
  if (filter.splits) where.push(raw`metadata -> 'dataset_split' ?| ${filter.splits}::text[]`);
  if (filter.metadata) where.push(raw`metadata @> ${JSON.stringify(filter.metadata)}::jsonb`);
  if (filter.filter) where.push(filter.filter);
  const { rows } = await raw<Example>`
    select ${columns} from ${examplesAt(filter.asOf)} e where ${raw.join(where, raw` and `)}
    order by position limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

export type ExampleChange = {
  inputs?: string;
  outputs?: string | null;
  /** Replaces what was there, but for the splits unless it names them. */
  metadata?: Record<string, unknown> | null;
  split?: string[];
};

/** The history keeps its earlier content until this version. */
export async function updateExample(
  sql: Sql,
  place: { workspaceId: string; version: string; datasetId?: string | undefined },
  id: string,
  change: ExampleChange,
): Promise<Example | undefined> {
  const { workspaceId, version } = place;
  const here = raw`id = ${id} and workspace_id = ${workspaceId}
    and dataset_id = coalesce(${place.datasetId ?? null}::uuid, dataset_id)`;
  await raw`
    insert into trace_example_history (example_id, ${kept}, valid_from, valid_to)
    select id, ${kept}, version_at, ${version}::timestamptz from trace_examples
    where ${here} and version_at < ${version}::timestamptz
  `.execute(sql);
  const sets: RawBuilder<unknown>[] = [
    raw`modified_at = ${version}::timestamptz`,
    raw`version_at = ${version}::timestamptz`,
  ];
  if (change.inputs !== undefined) sets.push(raw`inputs = ${change.inputs}`);
  if (change.outputs !== undefined) sets.push(raw`outputs = ${change.outputs}`);
  if (change.metadata !== undefined || change.split !== undefined) {
    const { dataset_split, ...metadata } = change.metadata ?? {};
    const json = change.metadata === undefined ? null : jsonbText(JSON.stringify(metadata));
    const split = change.split ?? dataset_split;
    sets.push(raw`metadata = coalesce(${json}::jsonb, metadata, '{}'::jsonb) || jsonb_build_object('dataset_split',
      coalesce(${split == null ? null : jsonbText(JSON.stringify(split))}::jsonb, metadata -> 'dataset_split', '["base"]'::jsonb))`);
  }
  const { rows } = await raw<Example>`
    update trace_examples set ${raw.join(sets)} where ${here} returning ${columns}
  `.execute(sql);
  return rows[0];
}

/** From this version on; what they were stands in the history, unless they are to be forgotten. */
export async function deleteExamples(
  sql: Sql,
  place: { workspaceId: string; datasetId: string; version: string },
  ids: readonly string[],
  options: { forget?: boolean } = {},
): Promise<number> {
  const { workspaceId, datasetId, version } = place;
  const result = await raw`
    with gone as (
      delete from trace_examples
      where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId} and dataset_id = ${datasetId} returning *
    )
    insert into trace_example_history (example_id, ${kept}, valid_from, valid_to)
    select id, ${kept}, version_at, ${version}::timestamptz from gone
  `.execute(sql);
  if (options.forget) await forgetExamples(sql, workspaceId, ids);
  return Number(result.numAffectedRows ?? 0n);
}

/** Also those that were deleted before: nothing of their content is left. */
export async function forgetExamples(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<void> {
  await raw`
    delete from trace_example_history where example_id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}
  `.execute(sql);
}

/** Puts examples into a split, or takes them out. Their ids, as far as they are of the dataset. */
export async function changeSplit(
  sql: Sql,
  place: { workspaceId: string; datasetId: string },
  change: { split: string; ids: readonly string[]; remove: boolean },
): Promise<{ id: string; splits: string[] }[]> {
  const { rows } = await raw<{ id: string; splits: unknown }>`
    select id, metadata -> 'dataset_split' as splits from trace_examples
    where id = any(${change.ids}::uuid[]) and workspace_id = ${place.workspaceId} and dataset_id = ${place.datasetId}
    order by position
  `.execute(sql);
  return rows.map(({ id, splits }) => {
    const now = (Array.isArray(splits) ? splits : splits == null ? [] : [splits]).map(String);
    const others = now.filter((split) => split !== change.split);
    return { id, splits: change.remove ? others : [...others, change.split] };
  });
}
