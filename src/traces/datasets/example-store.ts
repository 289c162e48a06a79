import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { jsonbText } from "../ingest/metadata.ts";
import { timeTextSql } from "../runs/run.ts";
import type { Example } from "./dataset.ts";

const columns = raw.raw(
  `id, workspace_id, dataset_id, inputs, outputs, metadata, source_run_id,
   ${timeTextSql("created_at")} as created_at, ${timeTextSql("modified_at")} as modified_at`,
);

export type NewExample = {
  id: string;
  inputs: string;
  outputs: string | null;
  metadata: Record<string, unknown> | null;
  sourceRunId: string | null;
  createdAt: string | null;
};

/** The ids that were written, in the order given; an id that is taken is not among them. */
export async function insertExamples(
  sql: Sql,
  place: { workspaceId: string; datasetId: string },
  examples: readonly NewExample[],
): Promise<string[]> {
  if (examples.length === 0) return [];
  const rows = examples.map(
    (
      each,
    ) => raw`(${each.id}::uuid, ${place.workspaceId}::uuid, ${place.datasetId}::uuid, ${each.inputs}, ${each.outputs},
      ${each.metadata === null ? null : jsonbText(JSON.stringify(each.metadata))}::jsonb, ${each.sourceRunId}::uuid,
      coalesce(${each.createdAt}::timestamptz, now()))`,
  );
  const result = await raw<{ id: string }>`
    insert into trace_examples (id, workspace_id, dataset_id, inputs, outputs, metadata, source_run_id, created_at)
    values ${raw.join(rows)} on conflict do nothing returning id
  `.execute(sql);
  return result.rows.map((row) => row.id);
}

export async function findExample(sql: Sql, workspaceId: string, id: string): Promise<Example | undefined> {
  const { rows } = await raw<Example>`
    select ${columns} from trace_examples where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

export type ExampleFilter = {
  datasetId?: string;
  ids?: string[];
  splits?: string[];
  metadata?: Record<string, unknown>;
  limit: number;
  offset: number;
};

export async function listExamples(sql: Sql, workspaceId: string, filter: ExampleFilter): Promise<Example[]> {
  const where: RawBuilder<unknown>[] = [raw`workspace_id = ${workspaceId}`];
  if (filter.datasetId !== undefined) where.push(raw`dataset_id = ${filter.datasetId}`);
  if (filter.ids) where.push(raw`id = any(${filter.ids}::uuid[])`);
  if (filter.splits) where.push(raw`metadata -> 'dataset_split' ?| ${filter.splits}::text[]`);
  if (filter.metadata) where.push(raw`metadata @> ${JSON.stringify(filter.metadata)}::jsonb`);
  const { rows } = await raw<Example>`
    select ${columns} from trace_examples where ${raw.join(where, raw` and `)}
    order by position limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

export type ExampleChange = {
  inputs?: string;
  outputs?: string | null;
  metadata?: Record<string, unknown> | null;
};

export async function updateExample(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: ExampleChange,
): Promise<Example | undefined> {
  const sets: RawBuilder<unknown>[] = [raw`modified_at = now()`];
  if (change.inputs !== undefined) sets.push(raw`inputs = ${change.inputs}`);
  if (change.outputs !== undefined) sets.push(raw`outputs = ${change.outputs}`);
  if (change.metadata !== undefined) {
    sets.push(
      raw`metadata = ${change.metadata === null ? null : jsonbText(JSON.stringify(change.metadata))}::jsonb`,
    );
  }
  const { rows } = await raw<Example>`
    update trace_examples set ${raw.join(sets)} where id = ${id} and workspace_id = ${workspaceId} returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function deleteExamples(sql: Sql, workspaceId: string, ids: readonly string[]): Promise<number> {
  const result = await raw`
    delete from trace_examples where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}
  `.execute(sql);
  return Number(result.numAffectedRows ?? 0n);
}

export async function touchDataset(sql: Sql, datasetId: string): Promise<void> {
  await raw`update trace_datasets set modified_at = now() where id = ${datasetId}`.execute(sql);
}
