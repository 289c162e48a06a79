import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import type { RunPlace } from "../storage/run-storage.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { Project } from "./project.ts";

const columns = raw.raw(
  `id, workspace_id, name, description, extra, default_dataset_id, reference_dataset_id, trace_tier, retention_days,
   ${timeTextSql("start_time")} as start_time, ${timeTextSql("end_time")} as end_time`,
);

export type NewProject = {
  id: string;
  workspaceId: string;
  name: string;
  description?: string | null;
  extra?: unknown;
  defaultDatasetId?: string | null;
  referenceDatasetId?: string | null;
  traceTier?: string | null;
  startTime?: string | null;
  endTime?: string | null;
};

/** Undefined when the name or the id is taken. */
export async function insertProject(sql: Sql, project: NewProject): Promise<Project | undefined> {
  const { rows } = await raw<Project>`
    insert into trace_projects (id, workspace_id, name, description, extra, default_dataset_id, reference_dataset_id,
      trace_tier, start_time, end_time)
    values (${project.id}, ${project.workspaceId}, ${project.name}, ${project.description ?? null},
      ${jsonOrNull(project.extra)}::jsonb, ${project.defaultDatasetId ?? null}, ${project.referenceDatasetId ?? null},
      ${project.traceTier ?? "longlived"}, coalesce(${project.startTime ?? null}::timestamptz, now()),
      ${project.endTime ?? null})
    on conflict do nothing returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function findProject(sql: Sql, workspaceId: string, id: string): Promise<Project | undefined> {
  const { rows } = await raw<Project>`
    select ${columns} from trace_projects where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null
  `.execute(sql);
  return rows[0];
}

export async function findProjectByName(
  sql: Sql,
  workspaceId: string,
  name: string,
): Promise<Project | undefined> {
  const { rows } = await raw<Project>`
    select ${columns} from trace_projects
    where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null
  `.execute(sql);
  return rows[0];
}

export type ProjectFilter = {
  ids?: string[];
  name?: string;
  nameContains?: string;
  referenceDatasets?: string[];
  /** True: no experiments. False: experiments alone. */
  referenceFree?: boolean;
  metadata?: Record<string, unknown>;
  sortBy?: "name" | "start_time" | { lastStarts: ReadonlyMap<string, string> };
  ascending?: boolean;
  limit: number;
  offset: number;
};

export async function listProjects(sql: Sql, workspaceId: string, filter: ProjectFilter): Promise<Project[]> {
  const where: RawBuilder<unknown>[] = [raw`p.workspace_id = ${workspaceId}`, raw`p.deleted_at is null`];
  if (filter.ids) where.push(raw`p.id = any(${filter.ids}::uuid[])`);
  if (filter.name !== undefined) where.push(raw`p.name = ${filter.name}`);
  if (filter.nameContains !== undefined)
    where.push(raw`position(lower(${filter.nameContains}) in lower(p.name)) > 0`);
  if (filter.referenceDatasets)
    where.push(raw`p.reference_dataset_id = any(${filter.referenceDatasets}::uuid[])`);
  if (filter.referenceFree !== undefined) {
    where.push(
      filter.referenceFree ? raw`p.reference_dataset_id is null` : raw`p.reference_dataset_id is not null`,
    );
  }
  if (filter.metadata) where.push(raw`p.extra -> 'metadata' @> ${JSON.stringify(filter.metadata)}::jsonb`);
  const { joined, key } = orderOf(filter.sortBy ?? "start_time");
  const direction = raw.raw(filter.ascending ? "asc" : "desc");
  const { rows } = await raw<Project>`
    select ${columns} from trace_projects p ${joined} where ${raw.join(where, raw` and `)}
    order by ${key} ${direction} nulls last, p.id limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

/** When runs began is known elsewhere. */
function orderOf(
  sortBy: NonNullable<ProjectFilter["sortBy"]>,
): Record<"joined" | "key", RawBuilder<unknown>> {
  if (typeof sortBy === "string") return { joined: raw``, key: raw.ref(`p.${sortBy}`) };
  const [ids, times] = [[...sortBy.lastStarts.keys()], [...sortBy.lastStarts.values()]];
  const joined = raw`left join unnest(${ids}::uuid[], ${times}::timestamptz[]) as l (project_id, last_start)
    on l.project_id = p.id`;
  return { joined, key: raw`l.last_start` };
}

export type ProjectChange = {
  name?: string;
  description?: string | null;
  extra?: Record<string, unknown> | null;
  default_dataset_id?: string | null;
  reference_dataset_id?: string | null;
  trace_tier?: string | null;
  end_time?: string | null;
  retention_days?: number | null;
};

const jsonColumns = new Set(["extra"]);

export async function updateProject(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: ProjectChange,
): Promise<Project | undefined> {
  const sets = Object.entries(change)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      jsonColumns.has(name)
        ? raw`${raw.id(name)} = ${jsonOrNull(value)}::jsonb`
        : raw`${raw.id(name)} = ${value as string | number | null}`,
    );
  if (sets.length === 0) return findProject(sql, workspaceId, id);
  const { rows } = await raw<Project>`
    update trace_projects set ${raw.join(sets)}
    where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function markProjectDeleted(
  sql: Sql,
  workspaceId: string,
  id: string,
  now: Date,
): Promise<boolean> {
  const result = await raw`
    update trace_projects set deleted_at = ${now}
    where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null
  `.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}

export async function listDeletedProjects(sql: Sql): Promise<RunPlace[]> {
  const { rows } = await raw<{ id: string; workspace_id: string }>`
    select id, workspace_id from trace_projects where deleted_at is not null order by deleted_at limit 100
  `.execute(sql);
  return rows.map((row) => ({ workspaceId: row.workspace_id, projectId: row.id }));
}

/**
 * The row goes last, and only when it has been marked for a while: runs that were on their way into the project
 * when it was deleted are found by it.
 */
export async function removeProject(
  sql: Sql,
  { workspaceId, projectId }: RunPlace,
  markedBefore: Date,
): Promise<void> {
  await raw`delete from trace_projects where id = ${projectId} and workspace_id = ${workspaceId}
    and deleted_at < ${markedBefore}`.execute(sql);
}

export async function projectExists(sql: Sql, workspaceId: string, projectId: string): Promise<boolean> {
  const { rows } = await raw`select 1 from trace_projects
    where id = ${projectId} and workspace_id = ${workspaceId} and deleted_at is null`.execute(sql);
  return rows.length > 0;
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : jsonbText(JSON.stringify(value));
}
