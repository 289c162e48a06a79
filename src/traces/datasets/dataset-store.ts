import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { Dataset } from "./dataset.ts";

const columns = raw.raw(
  `d.id, d.workspace_id, d.name, d.description, d.data_type, d.inputs_schema, d.outputs_schema, d.metadata,
   (select count(*) from trace_examples e where e.dataset_id = d.id) as example_count,
   (select count(*) from trace_projects p where p.reference_dataset_id = d.id and p.deleted_at is null) as session_count,
   ${timeTextSql("d.created_at")} as created_at, ${timeTextSql("d.modified_at")} as modified_at`,
);

export type NewDataset = {
  id: string;
  workspaceId: string;
  name: string;
  description: string | null;
  dataType: string;
  inputsSchema: unknown;
  outputsSchema: unknown;
  metadata: unknown;
};

/** Undefined when the name or the id is taken. */
export async function insertDataset(sql: Sql, dataset: NewDataset): Promise<Dataset | undefined> {
  const { rows } = await raw<Dataset>`
    insert into trace_datasets as d (id, workspace_id, name, description, data_type, inputs_schema, outputs_schema, metadata)
    values (${dataset.id}, ${dataset.workspaceId}, ${dataset.name}, ${dataset.description}, ${dataset.dataType},
      ${json(dataset.inputsSchema)}::jsonb, ${json(dataset.outputsSchema)}::jsonb, ${json(dataset.metadata)}::jsonb)
    on conflict do nothing returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function findDataset(sql: Sql, workspaceId: string, id: string): Promise<Dataset | undefined> {
  const { rows } = await raw<Dataset>`
    select ${columns} from trace_datasets d where d.id = ${id} and d.workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

export type DatasetFilter = {
  ids?: string[];
  name?: string;
  nameContains?: string;
  dataType?: string;
  metadata?: Record<string, unknown>;
  limit: number;
  offset: number;
};

export async function listDatasets(sql: Sql, workspaceId: string, filter: DatasetFilter): Promise<Dataset[]> {
  const where: RawBuilder<unknown>[] = [raw`d.workspace_id = ${workspaceId}`];
  if (filter.ids) where.push(raw`d.id = any(${filter.ids}::uuid[])`);
  if (filter.name !== undefined) where.push(raw`d.name = ${filter.name}`);
  if (filter.nameContains !== undefined)
    where.push(raw`position(lower(${filter.nameContains}) in lower(d.name)) > 0`);
  if (filter.dataType !== undefined) where.push(raw`d.data_type = ${filter.dataType}`);
  if (filter.metadata) where.push(raw`d.metadata @> ${JSON.stringify(filter.metadata)}::jsonb`);
  const { rows } = await raw<Dataset>`
    select ${columns} from trace_datasets d where ${raw.join(where, raw` and `)}
    order by d.created_at desc, d.id limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

export type DatasetChange = { name?: string; description?: string | null; metadata?: unknown };

export async function updateDataset(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: DatasetChange,
): Promise<Dataset | undefined> {
  const sets: RawBuilder<unknown>[] = [raw`modified_at = now()`];
  if (change.name !== undefined) sets.push(raw`name = ${change.name}`);
  if (change.description !== undefined) sets.push(raw`description = ${change.description}`);
  if (change.metadata !== undefined) sets.push(raw`metadata = ${json(change.metadata)}::jsonb`);
  const { rows } = await raw<Dataset>`
    update trace_datasets d set ${raw.join(sets)} where d.id = ${id} and d.workspace_id = ${workspaceId} returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function deleteDataset(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const result =
    await raw`delete from trace_datasets where id = ${id} and workspace_id = ${workspaceId}`.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : jsonbText(JSON.stringify(value));
}
