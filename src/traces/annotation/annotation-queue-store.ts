import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { AnnotationQueue } from "./annotation-queue.ts";

const columns = raw.raw(
  `q.id, q.workspace_id, q.name, q.description, q.rubric_instructions, q.rubric_items, q.default_dataset, q.metadata,
   q.num_reviewers_per_item, q.enable_reservations, q.reservation_minutes,
   ${timeTextSql("q.created_at")} as created_at, ${timeTextSql("q.updated_at")} as updated_at,
   (select count(*)::int from trace_annotation_items i where i.queue_id = q.id) as total_runs`,
);

export type QueueChange = {
  name?: string | undefined;
  description?: string | null | undefined;
  rubric_instructions?: string | null | undefined;
  rubric_items?: unknown;
  default_dataset?: string | null | undefined;
  metadata?: unknown;
  num_reviewers_per_item?: number | undefined;
  enable_reservations?: boolean | undefined;
  reservation_minutes?: number | undefined;
};

const jsonColumns = new Set(["rubric_items", "metadata"]);

function sqlValue(name: string, value: unknown): RawBuilder<unknown> {
  if (!jsonColumns.has(name)) return raw`${value as string | number | boolean | null}`;
  return raw`${value === null ? null : jsonbText(JSON.stringify(value))}::jsonb`;
}

/** Undefined when the id is taken. */
export async function insertQueue(
  sql: Sql,
  queue: QueueChange & { id: string; workspaceId: string; name: string },
): Promise<AnnotationQueue | undefined> {
  const { id, workspaceId, ...fields } = queue;
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const { rows } = await raw<AnnotationQueue>`
    insert into trace_annotation_queues as q (id, workspace_id, ${raw.join(given.map(([name]) => raw.id(name)))})
    values (${id}, ${workspaceId}, ${raw.join(given.map(([name, value]) => sqlValue(name, value)))})
    on conflict do nothing returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function findQueue(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<AnnotationQueue | undefined> {
  const { rows } = await raw<AnnotationQueue>`
    select ${columns} from trace_annotation_queues q where q.id = ${id} and q.workspace_id = ${workspaceId}
  `.execute(sql);
  return rows[0];
}

export type QueueFilter = {
  ids?: string[] | undefined;
  name?: string | undefined;
  nameContains?: string | undefined;
  datasetId?: string | undefined;
  runId?: string | undefined;
  limit: number;
  offset: number;
};

export async function listQueues(
  sql: Sql,
  workspaceId: string,
  filter: QueueFilter,
): Promise<AnnotationQueue[]> {
  const where: RawBuilder<unknown>[] = [raw`q.workspace_id = ${workspaceId}`];
  if (filter.ids) where.push(raw`q.id = any(${filter.ids}::uuid[])`);
  if (filter.name !== undefined) where.push(raw`q.name = ${filter.name}`);
  if (filter.nameContains !== undefined)
    where.push(raw`position(lower(${filter.nameContains}) in lower(q.name)) > 0`);
  if (filter.datasetId !== undefined) where.push(raw`q.default_dataset = ${filter.datasetId}`);
  if (filter.runId !== undefined)
    where.push(raw`q.id in (select i.queue_id from trace_annotation_items i
      where i.workspace_id = ${workspaceId} and i.run_id = ${filter.runId})`);
  const { rows } = await raw<AnnotationQueue>`
    select ${columns} from trace_annotation_queues q where ${raw.join(where, raw` and `)}
    order by q.created_at desc, q.id limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

export async function updateQueue(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: QueueChange,
): Promise<AnnotationQueue | undefined> {
  const sets = Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => raw`${raw.id(name)} = ${sqlValue(name, value)}`);
  const { rows } = await raw<AnnotationQueue>`
    update trace_annotation_queues q set ${raw.join([raw`updated_at = now()`, ...sets])}
    where q.id = ${id} and q.workspace_id = ${workspaceId} returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function deleteQueue(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const result = await raw`
    delete from trace_annotation_queues where id = ${id} and workspace_id = ${workspaceId}
  `.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}
